// SPDX-License-Identifier: Apache-2.0
// Diagonal state matrices of state space models.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "trivet/config.h"

namespace trivet::nn {

enum class HippoType { linear, legs, lagt };
TRIVET_ENUM(HippoType, linear, legs, lagt)

// The n eigenvalues -1/2 + i w_k, by increasing w:
//   linear: w_k = pi (n - 1) (k / n - 1/2), k = 0 .. n - 1 (Praxis' default).
//   legs: the normal part A + p p^T of the HiPPO-LegS matrix (Gu et al. 2022, "On the
//     Parameterization and Initialization of Diagonal State Space Models": S4D-LegS).
//   lagt: n times that of the HiPPO-LagT matrix, w = n / 2 cot((2 k + 1) pi / (2 n)).
// legs takes O(n^3) on the host.
std::vector<std::complex<double>> hippo_eigenvalues(HippoType type, std::int64_t n);

}  // namespace trivet::nn
