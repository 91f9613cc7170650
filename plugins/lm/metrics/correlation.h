// SPDX-License-Identifier: Apache-2.0
// Correlation of two sequences of numbers.
#pragma once

#include <span>

namespace trivet::lm {

// Pearson's r of sequences of equal length; 0 if one is constant or they are empty.
double pearson(std::span<const double> a, std::span<const double> b);

// Spearman's rho: Pearson's r of the ranks. Ties get the mean of their ranks.
double spearman(std::span<const double> a, std::span<const double> b);

}  // namespace trivet::lm
