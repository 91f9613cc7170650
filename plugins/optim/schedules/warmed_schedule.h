// SPDX-License-Identifier: Apache-2.0
// Warm-up of any schedule. It replaces the first `steps` values of the schedule and does not shift
// the rest (Model Garden's rule).
//
//   step < steps:  start + (schedule(steps) - start) * (step / steps)^power
//   else           schedule(step)
//
// `steps` is a number, which a shorter training does not change, or a share of the training.
//
// power 1 is Model Garden's linear warm-up. Its polynomial one, start 0, gives step 0 the value of
// step 1, so that the first update is not lost: `count_from_one`.
//
// A warm-up as long as the schedule rises to the schedule's last value, often 0, and leaves nothing
// else of it, as in Model Garden. A run warns about a rate that ends at 0 or only rises.
#pragma once

#include <cstdint>

#include "trivet/schedule.h"

namespace trivet::optim {

struct WarmupConfig {
  std::int64_t steps = 0;
  double share = 0;
  std::int64_t of_steps = 0;
  double start = 0;
  double power = 1;
  bool count_from_one = false;

  // steps, or share * of_steps, rounded, but at least 1.
  std::int64_t length() const;
  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(WarmupConfig, trivet::NoBase,
              (steps, "Number of warm-up steps. 0: no warm-up, or `share`.", at_least(0)),
              (share,
               "Warm-up steps as a share of of_steps: a shorter training has a shorter warm-up. "
               "0: `steps`.",
               at_least(0), less_than(1)),
              (of_steps,
               "Steps of the whole training, for `share`: of_steps = \"${trainer.train_steps}\".",
               at_least(0)),
              (start, "Value at step 0."), (power, "Power of the rise. 1: linear.", more_than(0)),
              (count_from_one, "Step 0 has the value of step 1 instead of `start`."))

struct WarmedConfig : ScheduleConfig {
  WarmupConfig warmup;
};
TRIVET_CONFIG(WarmedConfig, trivet::ScheduleConfig,
              (warmup, "Replaces the first steps by a rise from `start`."))

// The value before the end of the warm-up, where the schedule has `target`.
double warming_value(const WarmupConfig& warmup, std::int64_t step, double target);

// The schedule of a config that derives from WarmedConfig and defines its value without warm-up in
// `double at(std::int64_t step) const`.
template <class C>
class WarmedSchedule final : public Schedule {
 public:
  using Config = C;
  explicit WarmedSchedule(const Config& config) : config_(config) {}

  double value(std::int64_t step) const override {
    const std::int64_t end = config_.warmup.length();
    if (step >= end) return config_.at(step);
    return warming_value(config_.warmup, step, config_.at(end));
  }

 private:
  Config config_;
};

}  // namespace trivet::optim
