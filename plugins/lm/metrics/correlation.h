// SPDX-License-Identifier: Apache-2.0
// How two sequences of numbers go together.
#pragma once

#include <span>

namespace trivet::lm {

// Pearson's r of equally long sequences; 0 where one of them is constant or they are empty.
double pearson(std::span<const double> a, std::span<const double> b);

// Spearman's rho: Pearson's r of the ranks, equal numbers having the mean of theirs.
double spearman(std::span<const double> a, std::span<const double> b);

}  // namespace trivet::lm
