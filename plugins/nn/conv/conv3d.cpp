// SPDX-License-Identifier: Apache-2.0
#include "nn/conv/conv3d.h"

#include "nn/basic/checks.h"
#include "trivet/extensions/activation.h"

namespace trivet::nn {

void Conv3dConfig::validate(Diagnostics& diagnostics) const {
  for (const auto& [field, numbers] : {std::pair("kernel", &kernel), std::pair("stride", &stride),
                                       std::pair("dilation", &dilation), std::pair("pad", &pad)}) {
    check_triple(diagnostics, field, *numbers);
  }
  check_pad_use(diagnostics, padding, pad);
  check_groups(diagnostics, groups, input_dims, output_dims);
}

Conv3d::Conv3d(const Config& config, Scope& scope)
    : path_(scope.path()),
      input_dims_(config.input_dims),
      window_{.stride = triple_of(config.stride),
              .dilation = triple_of(config.dilation),
              .padding = padding_of(config.padding),
              .pad = triple_of(config.pad),
              .groups = config.groups},
      weight_(scope.parameter(
          "w",
          {triple_of(config.kernel)[0], triple_of(config.kernel)[1], triple_of(config.kernel)[2],
           config.input_dims / config.groups, config.output_dims},
          {.init = config.init})),
      bias_(config.has_bias
                ? &scope.parameter("b", {config.output_dims},
                                   {.init = config.bias_init, .fallback = {Init::constant, 0}})
                : nullptr),
      activation_(scope.layer("activation", config.activation)),
      fused_(plain_activation(activation_.get())) {}

Tensor Conv3d::fprop(const Tensor& x, FpropContext& context) {
  if (x.rank() != 5 || x.dim(4) != input_dims_) {
    wrong_input("nn/Conv3d", path_, "volumes [B, D, H, W, " + std::to_string(input_dims_) + "]", x);
  }
  const Tensor bias = bias_ != nullptr ? bias_->value() : Tensor();
  const Tensor y =
      ops::conv3d(x, weight_.value(), bias, window_, fused_.value_or(Activation::none));
  return fused_ ? y : activation_->fprop(y, context);
}

}  // namespace trivet::nn
