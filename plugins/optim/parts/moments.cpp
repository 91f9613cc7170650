// SPDX-License-Identifier: Apache-2.0
#include "optim/parts/moments.h"

#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::optim {
namespace {

// Smaller than the last digit of any weight above 1e-30.
constexpr float kTiny = 1.2e-38F;

}  // namespace

void expect_below_one(Diagnostics& diagnostics, std::string_view field, double decay) {
  if (decay < 1 && static_cast<float>(decay) == 1) {
    diagnostics.add(field, "rounds to 1 as a 32-bit float, which updates use",
                    "use 0.99999994 or less");
  }
}

Tensor scaled(const Tensor& x, double factor) {
  return ops::mul(x, static_cast<float>(factor));
}

Tensor sign(const Tensor& x) {
  return ops::div(x, ops::add(ops::abs(x), kTiny));
}

Tensor moving_mean(const Tensor& old, const Tensor& x, double decay) {
  return ops::add(scaled(old, decay), scaled(x, 1 - decay));
}

Tensor root_mean_square(const Tensor& x) {
  Tensor square = Tensor::empty(x.device(), {1});
  sum_of_squares(square, x);
  return ops::sqrt(scaled(square, 1 / static_cast<double>(x.size())));
}

Tensor clip_divisor(const Tensor& x, double threshold) {
  return ops::max(Tensor::full(x.device(), {1}, 1), scaled(root_mean_square(x), 1 / threshold));
}

}  // namespace trivet::optim
