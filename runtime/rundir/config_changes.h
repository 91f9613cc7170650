// SPDX-License-Identifier: Apache-2.0
// Finds the changes in the config between two processes of one run.
#pragma once

#include <string>
#include <vector>

#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

struct ConfigChange {
  std::string path;           // "trainer.train_steps"
  std::string before, after;  // TOML; empty if missing
  bool breaks = false;        // the checkpoints of the run do not fit, or change their meaning
  std::string reason{};       // why it breaks, if the schemas do not cover the location
};

// Leaves that differ, in the order of `before`, then the new ones. A change breaks if it is in a
// layer, model, optimizer or trainer and no surrounding field is adjustable (config.h), or if the
// type of one of these or of a task changes; all other fields may change. Ignores `mode`, `name`
// and defaults of fields that `before` lacks because an older trivet wrote it. `after` is a
// resolved tree, which marks its defaults; `schemas` give the types in it.
std::vector<ConfigChange> config_changes(const Value& before, const Value& after,
                                         SchemaLookup& schemas);

// "  trainer.train_steps: 100 -> 200" for each, one a line.
std::string to_string(const std::vector<ConfigChange>& changes);

}  // namespace trivet
