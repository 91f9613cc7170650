// SPDX-License-Identifier: Apache-2.0
// Parts of the formulas of optimizers that are composed of ops.
#pragma once

#include <string_view>

#include "trivet/config.h"
#include "trivet/tensor.h"

namespace trivet::optim {

// For Config::validate: a decay used in f32 must be below 1 in f32, too, or the mean never changes.
void expect_below_one(Diagnostics& diagnostics, std::string_view field, double decay);

// factor * x, with the factor rounded to f32 once.
Tensor scaled(const Tensor& x, double factor);
// 1, -1, or 0 where x is 0.
Tensor sign(const Tensor& x);
// decay * old + (1 - decay) * x, with 1 - decay computed in double.
Tensor moving_mean(const Tensor& old, const Tensor& x, double decay);
// f32 [1] of a flat x; never leaves the device.
Tensor root_mean_square(const Tensor& x);
// The divisor that limits the root mean square of x to `threshold`: f32 [1], at least 1.
Tensor clip_divisor(const Tensor& x, double threshold);

}  // namespace trivet::optim
