// SPDX-License-Identifier: Apache-2.0
#include "linear.h"

#include "checks.h"
#include "trivet/extend_step.h"
#include "trivet/extensions/activation.h"

namespace trivet::nn {

Linear::Linear(const Config& config, Scope& scope)
    : path_(scope.path()),
      weight_(scope.parameter("w", {config.input_dims, config.output_dims}, {.init = config.init})),
      bias_(config.has_bias
                ? &scope.parameter("b", {config.output_dims},
                                   {.init = config.bias_init, .fallback = {Init::constant, 0}})
                : nullptr),
      activation_(scope.layer("activation", config.activation)),
      fused_(plain_activation(activation_.get())) {}

Tensor Linear::fprop(const Tensor& x, FpropContext& context) {
  expect_last("nn/Linear", path_, x, weight_.shape()[0]);
  const Tensor bias = bias_ != nullptr ? bias_->value() : Tensor();
  const Tensor y = ops::linear(x, weight_.value(), bias, fused_.value_or(Activation::none));
  return fused_ ? y : activation_->fprop(y, context);
}

const void* Linear::extension(std::string_view id) const noexcept {
  if (id != kLayerLocalInTime) return nullptr;
  return fused_ || activation_->extension(id) != nullptr ? this : nullptr;
}

}  // namespace trivet::nn
