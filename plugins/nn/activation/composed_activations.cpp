// SPDX-License-Identifier: Apache-2.0
#include "nn/activation/composed_activations.h"

#include "trivet/ops.h"

namespace trivet::nn {
namespace {

Tensor relu(const Tensor& x) {
  return ops::activation(x, Activation::relu);
}

Tensor number(const Tensor& like, float value) {
  return Tensor::scalar(like.device(), value);
}

}  // namespace

Tensor Relu6::apply(const Tensor& x) const {
  return ops::min(relu(x), number(x, 6));
}

Tensor LeakyRelu::apply(const Tensor& x) const {
  return ops::max(x, ops::mul(x, slope_));
}

// Takes exp only of values not above 0, so that no infinity reaches the gradient.
Tensor Elu::apply(const Tensor& x) const {
  const Tensor zero = number(x, 0);
  const Tensor below = ops::add(ops::exp(ops::min(x, zero)), -1.0F);
  return ops::where(ops::less(x, zero), ops::mul(below, alpha_), x);
}

Tensor SquaredRelu::apply(const Tensor& x) const {
  return ops::square(relu(x));
}

Tensor CubedRelu::apply(const Tensor& x) const {
  const Tensor positive = relu(x);
  return ops::mul(ops::square(positive), positive);
}

Tensor Softplus::apply(const Tensor& x) const {
  return ops::softplus(x);
}

Tensor Exp::apply(const Tensor& x) const {
  return ops::exp(x);
}

Tensor SineRelu::apply(const Tensor& x) const {
  const Tensor waves = ops::mul(ops::sub(ops::sin(x), ops::cos(x)), epsilon_);
  return ops::where(ops::less(number(x, 0), x), x, waves);
}

}  // namespace trivet::nn
