// SPDX-License-Identifier: Apache-2.0
// What changed in the config between two processes that work on one run.
#pragma once

#include <string>
#include <vector>

#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

struct ConfigChange {
  std::string path;           // "trainer.train_steps"
  std::string before, after;  // TOML; empty where there is no such value
  bool breaks = false;        // the checkpoints of the run do not fit, or mean something else
  std::string reason{};       // why it breaks, where the schemas say nothing about the location
};

// Leaves that differ, in the order of `before`, then those that are new. A change breaks where it
// is in a layer, model, optimizer or trainer and no field around it is adjustable (config.h), and
// where the type of one of these or of a task is another; everything else may change. What `mode`
// and `name` are does not matter, nor do defaults of fields that `before` does not have: an older
// trivet wrote it. `after` is a resolved tree, which knows its defaults; `schemas` are asked for
// the types in it.
std::vector<ConfigChange> config_changes(const Value& before, const Value& after,
                                         SchemaLookup& schemas);

// "  trainer.train_steps: 100 -> 200" for each, one a line.
std::string to_string(const std::vector<ConfigChange>& changes);

}  // namespace trivet
