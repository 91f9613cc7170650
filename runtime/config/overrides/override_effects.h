// SPDX-License-Identifier: Apache-2.0
// Overrides that have no effect.
#pragma once

#include <string>
#include <vector>

#include "config/overrides/override_applier.h"
#include "config/tree/typed_tree.h"
#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

// Adds an error for every override, in the order of application, that has no effect in `root`, or
// that lost a part which no override of an inner location set again.
void check_effects(const Value& root, const TypedTree& tree,
                   const std::vector<AppliedOverride>& applied, Diagnostics& diagnostics);
// The same for values that later overrides removed, fully or partly.
void check_removed(const std::vector<AppliedOverride>& applied,
                   const std::vector<AppliedOverride>& removed, Diagnostics& diagnostics);

// Whether the tree at `path` contains all values of `wanted`: additional keys are allowed, 1 equals
// 1.0, and the short form of a part equals its table. Throws Error if `path` is invalid.
bool says(const Value& root, const TypedTree& tree, const std::string& path, const Value& wanted);

}  // namespace trivet
