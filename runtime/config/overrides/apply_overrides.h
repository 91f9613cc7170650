// SPDX-License-Identifier: Apache-2.0
//
// Overrides applied to a merged config tree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/overrides/override.h"
#include "config/tree/typed_tree.h"
#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

// True for the tables at the top of a config whose keys are free: xp, backend, defaults, sweep.
bool is_free_section(std::string_view name) noexcept;

// Changes `root` as the overrides say; mistakes are added to `problems`, with the location in the
// override. Unknown keys are set all the same: validation reports them best.
//
// The order of the overrides does not matter. Parts and their types are set before what stands
// inside them (short paths before long ones), globs reach every location that no override names
// itself, and what is taken out is taken out last. An override of which nothing is left, or whose
// value another one of the same path replaces, is a mistake, unless it `is_lower`.
void apply_overrides(Value& root, const TypedTree& tree, const std::vector<Override>& overrides,
                     Diagnostics& diagnostics);

}  // namespace trivet
