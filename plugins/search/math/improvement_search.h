// SPDX-License-Identifier: Apache-2.0
// Maximizes a function in the unit cube whose coordinates are numbers or cells. Starts from many
// candidates, then alternates between a local search over the numbers and steps to other cells.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "trivet/search/search_space.h"

namespace trivet::search {

using Score = std::function<double(const std::vector<double>& unit)>;

// Returns the best point found. Needs at least one candidate; `restarts` of them are improved.
std::vector<double> greatest(const SearchSpace& space, const Score& score,
                             std::vector<std::vector<double>> candidates, std::size_t restarts);

}  // namespace trivet::search
