// SPDX-License-Identifier: Apache-2.0
// EvalPlan: which data sets a run evaluates in its mode, and when.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/modes.h"
#include "trivet/task.h"
#include "trivet/trainer.h"

namespace trivet {

struct EvalPlan {
  struct Set {
    std::string name;           // EvalSet::name
    std::size_t index = 0;      // in eval_sets()
    std::int64_t interval = 0;  // steps; 0: only at the end of training
    std::int64_t steps = -1;    // batches; -1: all

    bool is_main() const { return name.empty(); }
  };
  std::vector<Set> sets;
  std::vector<std::string> names;  // of all in the config, also those that the mode skips

  bool has_main() const { return !sets.empty() && sets.front().is_main(); }
  std::vector<std::size_t> indexes() const;  // in eval_sets(), without task.eval_input
};

// task.eval_input comes first. A task without any input listed has its own (multitask). Throws
// ConfigError if the mode evaluates and finds no set.
EvalPlan eval_plan(Mode mode, Task& task, const TrainerConfig& trainer);

}  // namespace trivet
