// SPDX-License-Identifier: Apache-2.0
// What changed in the config between two processes that work on one run.
#pragma once

#include <string>
#include <vector>

#include "trivet/value.h"

namespace trivet {

struct ConfigChange {
  std::string path;           // "trainer.train_steps"
  std::string before, after;  // TOML; empty where there is no such value
  bool breaks = false;        // the checkpoints of the run do not fit, or mean something else
};

// Leaves that differ, in the order of `before`, then those that are new. Models, and the types of
// tasks, trainer and optimizers must stay, and which variables are trained by what; everything else
// may change. What `mode` and `name` are does not matter, nor do defaults of fields that `before`
// does not have: an older trivet wrote it. `after` is a resolved tree, which knows its defaults.
std::vector<ConfigChange> config_changes(const Value& before, const Value& after);

// "  trainer.train_steps: 100 -> 200" for each, one a line.
std::string to_string(const std::vector<ConfigChange>& changes);

}  // namespace trivet
