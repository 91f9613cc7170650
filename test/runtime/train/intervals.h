// SPDX-License-Identifier: Apache-2.0
// The options of a controller that evaluates task.eval_input alone.
#pragma once

#include <cstdint>

#include "train/controller.h"

namespace trivet::test {

struct Intervals {
  std::int64_t train_steps = 0;
  std::int64_t steps_per_loop = 100;
  std::int64_t validation_steps = -1;
  std::int64_t validation_interval = 0;
  Interval checkpoint_interval{};
  bool checkpoint_at_start = false;

  operator ControllerOptions() const {
    return {.train_steps = train_steps,
            .steps_per_loop = steps_per_loop,
            .evaluations = {.sets = {{.name = "",
                                      .index = 0,
                                      .interval = validation_interval,
                                      .steps = validation_steps}},
                            .names = {""}},
            .checkpoint_interval = checkpoint_interval,
            .checkpoint_at_start = checkpoint_at_start};
  }
};

}  // namespace trivet::test
