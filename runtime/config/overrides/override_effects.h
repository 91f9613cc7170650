// SPDX-License-Identifier: Apache-2.0
//
// Overrides that have no effect.
#pragma once

#include <string>
#include <vector>

#include "config/overrides/override_applier.h"
#include "config/tree/typed_tree.h"
#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

// Adds a problem for every override, in the order in which they were applied, of which nothing is
// left in `root`, or of which something was lost that no override of a location inside says anew.
void check_effects(const Value& root, const TypedTree& tree,
                   const std::vector<AppliedOverride>& applied, Diagnostics& diagnostics);
// The same for what others then took out, all of it or some.
void check_removed(const std::vector<AppliedOverride>& applied,
                   const std::vector<AppliedOverride>& removed, Diagnostics& diagnostics);

// True where the tree has at `path` all that `wanted` says: more keys do no harm, 1 is 1.0, and the
// short form of a part is its table. Throws Error for what is no path.
bool says(const Value& root, const TypedTree& tree, const std::string& path, const Value& wanted);

}  // namespace trivet
