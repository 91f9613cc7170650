// SPDX-License-Identifier: Apache-2.0
// Computes the differences between two configs.
#pragma once

#include <string>
#include <vector>

#include "trivet/config/value.h"

namespace trivet {

struct ValueDifference {
  std::string path;           // "trainer.train_steps"
  std::string before, after;  // TOML; empty if missing
  bool is_default = false;    // `after` is a struct's default (see DefaultsFiller)
};

// Leaves that differ, in the order of `before`, then the new ones. Arrays of tables of equal length
// are compared by entry, other arrays are leaves. Null equals a missing value.
std::vector<ValueDifference> differences(const Value& before, const Value& after);

}  // namespace trivet
