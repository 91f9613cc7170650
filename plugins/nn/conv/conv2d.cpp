// SPDX-License-Identifier: Apache-2.0
#include "nn/conv/conv2d.h"

#include "nn/basic/checks.h"
#include "nn/basic/parametrization.h"
#include "nn/basic/quantized_product.h"
#include "trivet/extensions/activation.h"

namespace trivet::nn {

namespace {

// A filter sums pixels: scales of single pixels could not be taken out of its sums.
void check_one_scale(Diagnostics& diagnostics, const ConfigOf<Layer>& quantization) {
  if (quantization.key() != "nn/ActivationQuantization") return;
  const Value* per_channel = quantization.fields().find("per_channel");
  if (per_channel != nullptr && per_channel->is_boolean() && !per_channel->as_boolean()) return;
  diagnostics.add("input_quantization", "has a scale for each pixel, which a convolution sums over",
                  "set its per_channel = false");
}

}  // namespace

void Conv2dConfig::validate(Diagnostics& diagnostics) const {
  check_pair(diagnostics, "kernel", kernel);
  check_pair(diagnostics, "stride", stride);
  check_pair(diagnostics, "dilation", dilation);
  check_pad(diagnostics, padding, pad);
  check_groups(diagnostics, groups, input_dims, output_dims);
  check_one_scale(diagnostics, input_quantization);
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
      input_quantization_(scope.layer("input_quantization", config.input_quantization)),
      activation_(scope.layer("activation", config.activation)),
      fused_(plain_activation(activation_.get())) {}

Tensor Conv2d::fprop(const Tensor& x, FpropContext& context) {
  expect_image("nn/Conv2d", path_, x, input_dims_);
  const Tensor bias = bias_ != nullptr ? bias_->value() : Tensor();
  const Activation act = fused_.value_or(Activation::none);
  const Operands operands = operands_of(x, input_quantization_.get(), weight_,
                                        parametrization_.get(), context, "nn/Conv2d", path_);
  Tensor y;
  if (operands.are_integers()) {
    y = operands.scaled(ops::conv2d(operands.x, operands.w, {}, window_));
    y = ops::activation(bias.defined() ? ops::add(y, bias) : y, act);
  } else {
    y = ops::conv2d(operands.x, operands.w, bias, window_, act);
  }
  return fused_ ? y : activation_->fprop(y, context);
}

}  // namespace trivet::nn
