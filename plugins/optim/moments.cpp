// SPDX-License-Identifier: Apache-2.0
#include "moments.h"

#include "trivet/ops.h"

namespace trivet::optim {

Tensor scaled(const Tensor& x, double factor) {
  return ops::mul(x, static_cast<float>(factor));
}

Tensor moving_mean(const Tensor& old, const Tensor& x, double decay) {
  return ops::add(scaled(old, decay), scaled(x, 1 - decay));
}

}  // namespace trivet::optim
