// SPDX-License-Identifier: Apache-2.0
// RunStats: what a run cost. Training is measured in segments (between them the controller writes,
// saves and evaluates), and from the third step of the process on: the first two lay out memory.
#pragma once

#include <cstdint>

#include "train/process_info.h"
#include "trivet/device.h"

namespace trivet {

// Sums over the measured steps.
struct TrainingCost {
  std::int64_t steps = 0, examples = 0;
  double seconds = 0, cpu_seconds = 0;
  std::int64_t page_faults = 0;
  std::int64_t backend_allocations = 0;

  double examples_per_second() const;  // 0 when nothing was measured
  double examples_per_cpu_second() const;
  double steps_per_second() const;
  double page_faults_per_step() const;
  double backend_allocations_per_step() const;
};

class RunStats {
 public:
  explicit RunStats(const Device& device) : device_(device) {}

  void begin_training();
  void end_training();
  void on_step(std::int64_t examples);

  std::int64_t steps() const { return steps_; }  // of this process
  std::int64_t examples() const { return examples_; }
  double training_seconds() const;  // all segments
  // From the start of the process to the end of its first training step; 0 before that.
  double first_step_seconds() const { return first_step_seconds_; }
  TrainingCost cost() const;  // up to now

 private:
  static constexpr std::int64_t kUnmeasuredSteps = 2;

  struct Mark {
    double time = 0;
    ProcessUsage usage;
    std::uint64_t allocations = 0;
  };
  Mark mark() const;
  void add_since(const Mark& start, TrainingCost& cost) const;

  const Device& device_;
  std::int64_t steps_ = 0, examples_ = 0;
  double first_step_seconds_ = 0;
  double training_seconds_ = 0, segment_start_ = 0;
  bool training_ = false;   // in a segment
  bool measuring_ = false;  // in the measured part of one
  Mark start_;              // of the measured part
  TrainingCost cost_;       // steps and examples always, the rest up to start_
};

}  // namespace trivet
