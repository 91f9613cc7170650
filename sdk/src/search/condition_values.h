// SPDX-License-Identifier: Apache-2.0
// The values that a condition of a search space allows.
#pragma once

#include <vector>

#include "trivet/config/value.h"

namespace trivet::search {

// A list has the values of which one must be there; any other value is the only one.
inline std::vector<Value> condition_values(const Value& condition) {
  if (!condition.is_array()) return {condition};
  return {condition.items().begin(), condition.items().end()};
}

}  // namespace trivet::search
