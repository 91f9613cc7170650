// SPDX-License-Identifier: Apache-2.0
// How much each key of a search matters: functional ANOVA (Hutter, Hoos and Leyton-Brown, ICML
// 2014). A random forest is fitted to the trials. The importance of a key is the part of the
// variance of the forest's prediction over the whole space that this key explains alone, in [0, 1].
// Interactions of keys make up the rest to 1.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/search/search_space.h"

namespace trivet::search {

// Fewer trials say nothing.
inline constexpr std::size_t kFewestForImportance = 4;

// An importance for each dimension. `units` has coordinates of trials (SearchSpace::unit), `values`
// the results of these, finite. The same trials give the same numbers. Empty for fewer than
// kFewestForImportance trials, or if all values are equal. [any-thread]
TRIVET_API std::vector<double> importances(const SearchSpace& space,
                                           const std::vector<std::vector<double>>& units,
                                           std::span<const double> values);

}  // namespace trivet::search
