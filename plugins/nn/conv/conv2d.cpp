// SPDX-License-Identifier: Apache-2.0
#include "nn/conv/conv2d.h"

#include "nn/basic/checks.h"
#include "nn/basic/parametrization.h"
#include "trivet/extensions/activation.h"

namespace trivet::nn {

void Conv2dConfig::validate(Diagnostics& diagnostics) const {
  check_pair(diagnostics, "kernel", kernel);
  check_pair(diagnostics, "stride", stride);
  check_pair(diagnostics, "dilation", dilation);
  check_pad(diagnostics, padding, pad);
  check_groups(diagnostics, groups, input_dims, output_dims);
}

Conv2d::Conv2d(const Config& config, Scope& scope)
    : path_(scope.path()),
      input_dims_(config.input_dims),
      window_{.stride = pair_of(config.stride),
              .dilation = pair_of(config.dilation),
              .padding = padding_of(config.padding),
              .pad = pair_of(config.pad),
              .groups = config.groups},
      weight_(scope.parameter("w",
                              {config.kernel.front(), config.kernel.back(),
                               config.input_dims / config.groups, config.output_dims},
                              {.init = config.init})),
      bias_(config.has_bias
                ? &scope.parameter("b", {config.output_dims},
                                   {.init = config.bias_init, .fallback = {Init::constant, 0}})
                : nullptr),
      parametrization_(scope.layer(
          "parametrization", parametrization_for(config.parametrization, config.output_dims))),
      activation_(scope.layer("activation", config.activation)),
      fused_(plain_activation(activation_.get())) {}

Tensor Conv2d::weight(FpropContext& context) const {
  return weights_of(weight_, parametrization_.get(), context, "nn/Conv2d", path_);
}

Tensor Conv2d::fprop(const Tensor& x, FpropContext& context) {
  expect_image("nn/Conv2d", path_, x, input_dims_);
  const Tensor bias = bias_ != nullptr ? bias_->value() : Tensor();
  const Tensor y =
      ops::conv2d(x, weight(context), bias, window_, fused_.value_or(Activation::none));
  return fused_ ? y : activation_->fprop(y, context);
}

}  // namespace trivet::nn
