// SPDX-License-Identifier: Apache-2.0
#include "nn/basic/linear.h"

#include "nn/basic/checks.h"
#include "nn/basic/parametrization.h"
#include "nn/basic/quantized_product.h"
#include "nn/basic/templates.h"
#include "trivet/extensions/activation.h"
#include "trivet/layer/extend_step.h"
#include "trivet/ops/ops_mesh.h"

namespace trivet::nn {

void LinearConfig::validate(Diagnostics& diagnostics) const {
  if (lora.layers.empty()) return;
  diagnostics.add("lora.layers", "selects products, but a Linear has only one", "remove it");
}

Linear::Linear(const Config& config, Scope& scope)
    : path_(scope.path()),
      split_(split_of(config.weight_split_dims_mapping.wt, {config.input_dims, config.output_dims},
                      scope, "weight_split_dims_mapping.wt")),
      weight_(scope.parameter("w", {config.input_dims, config.output_dims},
                              {.init = config.init, .blocks = split_.axis.extent()})),
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
  if (split_.is_split()) return split_fprop(x, context);
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

Tensor Linear::split_fprop(const Tensor& x, FpropContext& context) {
  if (split_.is_over(0)) return rows(ops::split_blocks(x, -1, split_.axis), context);
  const std::vector<Tensor> blocks = columns(x, ops::fan_out(x, split_.axis), context);
  return ops::gather_blocks(blocks, -1, split_.axis);
}

// What knows nothing of blocks, such as an activation that is not elementwise, gets whole tensors.
std::vector<Tensor> Linear::columns(const Tensor& x, std::span<const Tensor> x_blocks,
                                    FpropContext& context) {
  const MeshAxis& axis = split_.axis;
  const Operands operands = operands_of(x, input_quantization_.get(), weight_,
                                        parametrization_.get(), context, "nn/Linear", path_);
  const bool passes_blocks = fused_ && lora_a_ == nullptr && !operands.are_integers();
  std::vector<Tensor> y = input_quantization_ != nullptr
                              ? ops::fan_out(operands.x, axis)
                              : std::vector<Tensor>(x_blocks.begin(), x_blocks.end());
  const std::vector<Tensor> w = ops::split_blocks(operands.w, 1, axis);
  std::vector<Tensor> bias(w.size());
  if (passes_blocks && bias_ != nullptr) bias = ops::split_blocks(bias_->value(), 0, axis);
  const Activation act = passes_blocks ? *fused_ : Activation::none;
  for (std::size_t i = 0; i < w.size(); ++i) y[i] = ops::linear(y[i], w[i], bias[i], act);
  if (passes_blocks) return y;
  return ops::split_blocks(finished(ops::gather_blocks(y, -1, axis), operands, x, context), -1,
                           axis);
}

Tensor Linear::rows(std::span<const Tensor> x_blocks, FpropContext& context) {
  const MeshAxis& axis = split_.axis;
  Operands operands;
  Tensor x;  // where the whole is needed
  std::vector<Tensor> y(x_blocks.begin(), x_blocks.end());
  if (input_quantization_ != nullptr || lora_a_ != nullptr) {
    x = ops::gather_blocks(x_blocks, -1, axis);
  }
  if (input_quantization_ != nullptr) {
    operands = operands_of(x, input_quantization_.get(), weight_, parametrization_.get(), context,
                           "nn/Linear", path_);
    y = ops::split_blocks(operands.x, -1, axis);
  } else {
    operands.w = weights_of(weight_, parametrization_.get(), context, "nn/Linear", path_);
  }
  const std::vector<Tensor> w = ops::split_blocks(operands.w, 0, axis);
  for (std::size_t i = 0; i < w.size(); ++i) y[i] = ops::linear(y[i], w[i], {});
  return finished(ops::sum_blocks(y, axis), operands, x, context);
}

Tensor Linear::finished(Tensor y, const Operands& operands, const Tensor& x,
                        FpropContext& context) const {
  if (operands.are_integers()) y = operands.scaled(y);
  if (bias_ != nullptr) y = ops::add(y, bias_->value());
  if (lora_a_ != nullptr) y = ops::add(y, beside(x, context));
  return activation_ != nullptr ? activation_->fprop(y, context) : y;
}

const void* Linear::extension(std::string_view id) const noexcept {
  if (id == kSplitProduct) {
    return split_.is_split() ? static_cast<const SplitProduct*>(this) : nullptr;
  }
  if (id != kLayerLocalInTime) return nullptr;
  const auto is_local = [&](const std::shared_ptr<Layer>& layer) {
    return layer == nullptr || layer->extension(id) != nullptr;
  };
  return (fused_ || is_local(activation_)) && is_local(input_quantization_) ? this : nullptr;
}

}  // namespace trivet::nn
