// SPDX-License-Identifier: Apache-2.0
// Pieces of the formulas of optimizers that are composed of ops.
#pragma once

#include <string_view>

#include "trivet/config.h"
#include "trivet/tensor.h"

namespace trivet::optim {

// For Config::validate: a decay that is computed with in f32 must be below 1 there, too, or nothing
// new ever gets into the mean.
void expect_below_one(Diagnostics& diagnostics, std::string_view field, double decay);

// factor * x, the factor rounded to f32 once.
Tensor scaled(const Tensor& x, double factor);
// decay * old + (1 - decay) * x, 1 - decay computed in double.
Tensor moving_mean(const Tensor& old, const Tensor& x, double decay);
// As f32 [1], of a flat x; it never leaves the device.
Tensor root_mean_square(const Tensor& x);
// What x is divided by to have a root mean square of no more than `threshold`: f32 [1], at least 1.
Tensor clip_divisor(const Tensor& x, double threshold);

}  // namespace trivet::optim
