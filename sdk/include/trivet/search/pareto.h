// SPDX-License-Identifier: Apache-2.0
// The order of trials by several objectives: one dominates another if no objective is worse and at
// least one is better. The Pareto front has those that none dominates.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "trivet/base/export.h"

namespace trivet::search {

// For all functions less is better, and all rows have the same size. [any-thread]
TRIVET_API bool dominates(std::span<const double> one, std::span<const double> other);

// Fronts of row numbers, each in order: the first is the Pareto front, the next that of the others,
// and so on, until they have at least `enough` rows (Deb et al. 2002). Time: n^2 for each front.
TRIVET_API std::vector<std::vector<std::size_t>> pareto_fronts(
    const std::vector<std::vector<double>>& rows, std::size_t enough);

// How far the neighbors of each row of a front are, summed over the objectives in parts of their
// range; infinite at the ends (Deb et al. 2002).
TRIVET_API std::vector<double> crowding_distances(const std::vector<std::vector<double>>& rows,
                                                  std::span<const std::size_t> front);

}  // namespace trivet::search
