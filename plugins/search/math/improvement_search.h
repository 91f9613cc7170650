// SPDX-License-Identifier: Apache-2.0
// Where in the unit cube a function is greatest, when some coordinates are numbers and others are
// cells: many candidates, then from the best of them by turns a local search over the numbers and
// steps to other cells.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "trivet/search/search_space.h"

namespace trivet::search {

using Score = std::function<double(const std::vector<double>& unit)>;

// The best point found. There is at least one candidate; `restarts` of them are followed.
std::vector<double> greatest(const SearchSpace& space, const Score& score,
                             std::vector<std::vector<double>> candidates, std::size_t restarts);

}  // namespace trivet::search
