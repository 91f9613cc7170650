// SPDX-License-Identifier: Apache-2.0
// Normalization over the batch. (layer_norm and rms_norm, over the last axis, are in ops.h.)
//
// A backend may bring kernels (trivet/backend/kernels/norm.h); without them it is composed of sums
// and elementwise ops.
#pragma once

#include "trivet/ops.h"

namespace trivet {

struct BatchNormResult {
  Tensor y;
  Tensor mean, variance;  // of the batch [n], the variance biased; they carry no gradient
};

#pragma GCC visibility push(default)  // TRIVET_API for all of them
namespace ops {

// Ioffe and Szegedy 2015: y = act((x - mean) / sqrt(variance + epsilon) * gamma + beta) with the
// mean and the biased variance of each channel, the last axis of x [.., n], over all other axes.
// gamma and beta [n] may be undefined. No gated activations.
BatchNormResult batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon,
                           Activation act = Activation::none);

}  // namespace ops
#pragma GCC visibility pop
}  // namespace trivet
