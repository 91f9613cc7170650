// SPDX-License-Identifier: Apache-2.0
//
// Expected improvement below the least value so far, of a value that is normal (Jones et al. 1998):
//
//   EI = s (z F(z) + f(z)),   z = (best - mean) / s,   f, F density and distribution of N(0, 1)
//
// as its natural logarithm, exact where the improvement itself is too small for a double (Ament et
// al. 2023): maximizing it finds a way where all is flat.
#pragma once

namespace trivet::search {

// Minus infinity where there is no improvement at all: no deviation, and a mean that is no better.
double log_expected_improvement(double mean, double deviation, double best);

}  // namespace trivet::search
