// SPDX-License-Identifier: Apache-2.0
// StepProfile: profiles some steps of a training and writes what it found into `profile/` of the
// run's directory: steps_A_B.json, a Chrome trace, and steps_A_B.txt, the tables.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profile/profile_report.h"
#include "trivet/layer/layer_trace.h"
#include "trivet/tensor/device.h"

namespace trivet {

struct StepRange {
  std::int64_t first = 0, last = 0;
};

// "steps=10..13" or "steps=10". Throws UsageError for other texts, and for more than 1,000 steps.
StepRange step_range_of(const std::string& text);

// Make it before the model, whose layers it must see. [run-thread]
class StepProfile {
 public:
  struct Parts {
    Device& device;
    std::filesystem::path directory;  // of the run
    std::function<double()> peak_flops;
    std::function<void(const std::string&)> print;
    std::function<void(const std::string&)> warn;
  };
  StepProfile(StepRange range, Parts parts);

  // After each step, and before the first one with the step that it continues from.
  void at_step(std::int64_t step);
  // At the end of the training: writes the profile of a range that it did not reach the end of, or
  // warns that no step of it was trained.
  void finish();

 private:
  void write();

  StepRange range_;
  Parts parts_;
  LayerTrace layers_;
  std::unique_ptr<Profile> profile_;
  std::int64_t begin_ = 0;    // the step before the first one of the profile
  std::vector<double> ends_;  // of the steps
  bool is_written_ = false;
};

}  // namespace trivet
