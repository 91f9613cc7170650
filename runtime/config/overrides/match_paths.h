// SPDX-License-Identifier: Apache-2.0
// Globs in the paths of overrides, and those paths as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/overrides/override.h"
#include "config/tree/typed_tree.h"
#include "trivet/config/value.h"

namespace trivet {

// The paths, without globs, of all locations that exist in a filled tree or that its schemas know
// and that `steps` matches.
std::vector<std::vector<OverrideStep>> match_paths(const Value& filled, const TypedTree& tree,
                                                   const std::vector<OverrideStep>& steps);

// Whether a name fits a pattern, in which '*' matches any characters.
bool matches_glob(std::string_view pattern, std::string_view name);

// "a.b[2].c"
std::string path_text(const std::vector<OverrideStep>& steps);

}  // namespace trivet
