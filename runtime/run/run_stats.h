// SPDX-License-Identifier: Apache-2.0
// RunStats: measures the cost of a run. Training is measured in segments (between them the
// controller writes, saves and evaluates), from the third step of the process on: the first two
// plan memory.
#pragma once

#include <cstdint>
#include <vector>

#include "base/process_info.h"
#include "trivet/tensor/device.h"

namespace trivet {

// Sums over the measured steps.
struct TrainingCost {
  std::int64_t steps = 0, examples = 0;
  std::int64_t tokens = 0;  // 0 if the task counts none
  double model_flops = 0;   // with all pairs of attention, see FlopCount
  double peak_flops = 0;    // of all processes, per second; 0: unknown
  double seconds = 0, cpu_seconds = 0;
  std::int64_t page_faults = 0;
  std::int64_t backend_allocations = 0;
  std::vector<double> waited_seconds{};  // of each of several processes, inside of steps for others
  double exchange_seconds = 0;  // transfers: in each step the shortest wait, of the last to come

  double examples_per_second() const;  // 0 if nothing was measured
  double examples_per_cpu_second() const;
  double tokens_per_second() const;
  double flops_per_token() const;
  double mfu() const;  // tokens_per_second * flops_per_token / peak_flops
  double steps_per_second() const;
  double page_faults_per_step() const;
  double backend_allocations_per_step() const;
};

class RunStats {
 public:
  // What several processes of a run have used so far.
  struct Processes {
    double cpu_seconds = 0;                // of all
    std::vector<double> waited_seconds{};  // of each, inside of steps for others
  };

  explicit RunStats(const Device& device) : device_(device) {}

  // Of this process's device; see TrainingCost.
  void set_peak_flops(double peak) { device_peak_flops_ = peak; }
  // Before every step of a run of several, which do equal work: FLOPs are those of all.
  void set_processes(Processes processes);
  void begin_training();
  void end_training();
  void on_step(std::int64_t examples, std::int64_t tokens = 0);

  std::int64_t steps() const { return steps_; }  // of this process
  std::int64_t examples() const { return examples_; }
  std::int64_t tokens() const { return tokens_; }
  double model_flops() const { return model_flops_; }  // of these steps
  double device_peak_flops() const { return device_peak_flops_; }
  double peak_flops() const { return device_peak_flops_ * process_count(); }
  double training_seconds() const;  // all segments
  // From the start of the process to the end of its first training step. 0 before its end.
  double first_step_seconds() const { return first_step_seconds_; }
  TrainingCost cost() const;  // up to now

 private:
  static constexpr std::int64_t kUnmeasuredSteps = 2;

  struct Mark {
    double time = 0;
    ProcessUsage usage;
    std::uint64_t allocations = 0;
    std::vector<double> waited_seconds;
    double exchange_seconds = 0;
  };
  double process_count() const;
  Mark mark() const;
  void add_since(const Mark& start, TrainingCost& cost) const;

  const Device& device_;
  Processes processes_;
  double exchange_seconds_ = 0;
  double device_peak_flops_ = 0;
  std::int64_t steps_ = 0, examples_ = 0, tokens_ = 0;
  double model_flops_ = 0;
  double flops_before_ = 0;  // the device's counter before the step
  double first_step_seconds_ = 0;
  double training_seconds_ = 0, segment_start_ = 0;
  bool training_ = false;   // in a segment
  bool measuring_ = false;  // in the measured part of a segment
  Mark start_;              // of the measured part
  TrainingCost cost_;       // steps and examples always, the rest up to start_
};

}  // namespace trivet
