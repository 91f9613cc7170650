// SPDX-License-Identifier: Apache-2.0
// Applies overrides to a merged config tree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/overrides/override.h"
#include "config/tree/typed_tree.h"
#include "trivet/config/schema.h"
#include "trivet/config/value.h"

namespace trivet {

// Whether a table at the top of a config has free keys: xp, backend, defaults, sweep.
bool is_free_section(std::string_view name) noexcept;

// Applies the overrides to `root`. Errors are added to the diagnostics, with the location in the
// override. Unknown keys are set anyway, because validation reports them best.
//
// The order of the overrides does not matter. Parts and their types are set before their contents
// (short paths before long ones). Globs apply to every location that no other override names.
// Removals come last. An override without effect, or one that another override of the same path
// replaces, is an error unless it `is_lower`.
void apply_overrides(Value& root, const TypedTree& tree, const std::vector<Override>& overrides,
                     Diagnostics& diagnostics);

}  // namespace trivet
