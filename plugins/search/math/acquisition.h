// SPDX-License-Identifier: Apache-2.0
// Expected improvement below the least value so far, of a value that is normal (Jones et al. 1998):
//
//   EI = s (z F(z) + f(z)),   z = (best - mean) / s,   f, F density and distribution of N(0, 1)
//
// as its natural logarithm, which is accurate where the improvement itself underflows a double
// (Ament et al. 2023), so maximizing it works in flat regions.
#pragma once

namespace trivet::search {

// Minus infinity if improvement is impossible: no deviation, and a mean that is not better.
double log_expected_improvement(double mean, double deviation, double best);

}  // namespace trivet::search
