// SPDX-License-Identifier: Apache-2.0
// Warm-up, which every schedule has: it replaces the first `steps` values of the schedule and does
// not shift the rest (Model Garden's rule).
//
//   step < steps:  start + (schedule(steps) - start) * (step / steps)^power
//   else           schedule(step)
//
// power 1 is Model Garden's linear warm-up. Its polynomial one gives step 0 the value of step 1;
// here step 0 has `start`.
#pragma once

#include <cstdint>

#include "trivet/schedule.h"

namespace trivet::optim {

struct WarmupConfig {
  std::int64_t steps = 0;
  double start = 0;
  double power = 1;
};
TRIVET_CONFIG(WarmupConfig, trivet::NoBase, (steps, "Length; 0: no warm-up.", at_least(0)),
              (start, "The value of step 0."), (power, "1: a straight line.", more_than(0)))

struct WarmedConfig : ScheduleConfig {
  WarmupConfig warmup;
};
TRIVET_CONFIG(WarmedConfig, trivet::ScheduleConfig,
              (warmup, "Replaces the first steps by a rise from `start`."))

// Base of the schedules here: theirs is `plain`.
class Warmed : public Schedule {
 public:
  double value(std::int64_t step) const final;

 protected:
  explicit Warmed(const WarmupConfig& warmup) : warmup_(warmup) {}
  virtual double plain(std::int64_t step) const = 0;

 private:
  WarmupConfig warmup_;
};

}  // namespace trivet::optim
