// SPDX-License-Identifier: Apache-2.0
// What differs between two configs.
#pragma once

#include <string>
#include <vector>

#include "trivet/config/value.h"

namespace trivet {

struct ValueDifference {
  std::string path;           // "trainer.train_steps"
  std::string before, after;  // TOML; empty where there is no such value
  bool is_default = false;    // `after` is there because its struct says so (see DefaultsFiller)
};

// Leaves that differ, in the order of `before`, then those that are new. Arrays of tables are
// compared entry by entry where they are of one length, other arrays are leaves; null and no value
// are one.
std::vector<ValueDifference> differences(const Value& before, const Value& after);

}  // namespace trivet
