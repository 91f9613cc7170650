// SPDX-License-Identifier: Apache-2.0
// The softmax with a heavy tail of Amid et al. 2019, "Robust bi-tempered logistic loss based on
// Bregman divergences", section 2:
//
//   p_c = exp_t(x_c - lambda),  exp_t(u) = max(0, 1 + (1 - t) u)^(1 / (1 - t)),  exp_1 = exp
//
// where lambda is such that the p_c of a row sum to 1.
#pragma once

#include "trivet/base/export.h"
#include "trivet/tensor.h"

namespace trivet::ops {

// log p of x f32 [rows, classes], of the same shape; t = 1 is log_softmax. Throws Error for t below
// 1, where p may be 0. lambda is found on the host, with a double; the gradient is exact.
TRIVET_API Tensor tempered_log_softmax(const Tensor& x, double t);

}  // namespace trivet::ops
