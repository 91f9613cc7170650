// SPDX-License-Identifier: Apache-2.0
#include "nn/basic/linear.h"

#include "nn/basic/checks.h"
#include "nn/basic/parametrization.h"
#include "nn/basic/quantized_product.h"
#include "nn/basic/templates.h"
#include "trivet/extensions/activation.h"
#include "trivet/layer/extend_step.h"

namespace trivet::nn {

void LinearConfig::validate(Diagnostics& diagnostics) const {
  if (lora.layers.empty()) return;
  diagnostics.add("lora.layers", "selects products, but a Linear has only one", "remove it");
}

Linear::Linear(const Config& config, Scope& scope)
    : path_(scope.path()),
      weight_(scope.parameter("w", {config.input_dims, config.output_dims}, {.init = config.init})),
      bias_(config.has_bias
                ? &scope.parameter("b", {config.output_dims},
                                   {.init = config.bias_init, .fallback = {Init::constant, 0}})
                : nullptr),
      parametrization_(scope.layer(
          "parametrization", parametrization_for(config.parametrization, config.output_dims))),
      input_quantization_(scope.layer("input_quantization", config.input_quantization)),
      lora_factor_(static_cast<float>(config.lora.factor())),
      activation_(scope.layer("activation", config.activation)),
      fused_(plain_activation(activation_.get())) {
  const std::int64_t rank = config.lora.rank;
  if (rank == 0) return;
  lora_a_ =
      &scope.parameter("lora_a", {config.input_dims, rank}, {.init = {Init::fan_in_uniform, 1}});
  lora_b_ = &scope.parameter("lora_b", {rank, config.output_dims}, {.init = {Init::constant, 0}});
  lora_dropout_ = scope.layer("lora_dropout", dropout(config.lora.dropout));
}

Tensor Linear::product(const Tensor& x, Activation act, FpropContext& context) const {
  const Tensor bias = bias_ != nullptr ? bias_->value() : Tensor();
  const Operands operands = operands_of(x, input_quantization_.get(), weight_,
                                        parametrization_.get(), context, "nn/Linear", path_);
  if (!operands.are_integers()) return ops::linear(operands.x, operands.w, bias, act);
  const Tensor y = operands.scaled(ops::linear(operands.x, operands.w, {}));
  return ops::activation(bias.defined() ? ops::add(y, bias) : y, act);
}

Tensor Linear::fprop(const Tensor& x, FpropContext& context) {
  expect_last("nn/Linear", path_, x, weight_.shape()[0]);
  if (lora_a_ != nullptr) {
    const Tensor y = ops::add(product(x, Activation::none, context), beside(x, context));
    return activation_ != nullptr ? activation_->fprop(y, context) : y;
  }
  const Tensor y = product(x, fused_.value_or(Activation::none), context);
  return fused_ ? y : activation_->fprop(y, context);
}

// The factor is applied to the smallest tensor.
Tensor Linear::beside(const Tensor& x, FpropContext& context) const {
  const Tensor kept = lora_dropout_ != nullptr ? lora_dropout_->fprop(x, context) : x;
  const Tensor thin = ops::mul(ops::linear(kept, lora_a_->value(), Tensor()), lora_factor_);
  return ops::linear(thin, lora_b_->value(), Tensor());
}

const void* Linear::extension(std::string_view id) const noexcept {
  if (id != kLayerLocalInTime) return nullptr;
  const auto is_local = [&](const std::shared_ptr<Layer>& layer) {
    return layer == nullptr || layer->extension(id) != nullptr;
  };
  return (fused_ || is_local(activation_)) && is_local(input_quantization_) ? this : nullptr;
}

}  // namespace trivet::nn
