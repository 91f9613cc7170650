// SPDX-License-Identifier: Apache-2.0
#include "nn/attention/feed_forward.h"

#include <utility>
#include <vector>

#include "nn/basic/checks.h"
#include "nn/basic/parametrization.h"
#include "nn/basic/templates.h"
#include "nn/remat/checkpoint_policy.h"
#include "nn/split/split_product.h"
#include "trivet/ops.h"
#include "trivet/ops/ops_mesh.h"

namespace trivet::nn {

FeedForward::FeedForward(const Config& config, Scope& scope, const std::string& prefix)
    : path_(scope.path()),
      input_dims_(expect_set("nn/FeedForward", path_, "input_dims", config.input_dims)) {
  const std::int64_t hidden = config.hidden_dims > 0 ? config.hidden_dims : 4 * input_dims_;
  const bool gated = config.use_gated_activation;
  const FeedForwardSplitConfig& mapping = config.weight_split_dims_mapping;
  const AxisSplit up =
      split_of(mapping.ffn0, {input_dims_, hidden}, scope, "weight_split_dims_mapping.ffn0");
  const AxisSplit down =
      split_of(mapping.ffn1, {hidden, input_dims_}, scope, "weight_split_dims_mapping.ffn1");
  if (up.is_over(1) && down.is_over(0)) hidden_axis_ = up.axis;
  const auto product = [&](const char* name, const ConfigOf<Layer>& activation) {
    ConfigOf<Layer> layer = linear(input_dims_, hidden, config.has_bias, config.init,
                                   lora_of(config.lora, name), activation);
    if (up.is_split()) layer = with_split(std::move(layer), mapping.ffn0);
    return scope.layer(prefix + name,
                       parametrized(layer, config.parametrization, config.input_quantization));
  };
  in_ = product("in", gated ? ConfigOf<Layer>() : config.activation);
  if (gated) gate_ = product("gate", config.activation);
  dropout_ = scope.layer(prefix + "dropout", dropout(config.relu_dropout));
  ConfigOf<Layer> last =
      linear(hidden, input_dims_, config.has_bias, init_or(config.output_init, config.init),
             lora_of(config.lora, "out"));
  if (down.is_split()) last = with_split(std::move(last), mapping.ffn1);
  out_ = scope.layer(prefix + "out",
                     parametrized(last, config.parametrization, config.input_quantization));
}

Tensor FeedForward::fprop(const Tensor& x, FpropContext& context) {
  expect_last("nn/FeedForward", path_, x, input_dims_);
  if (hidden_axis_.is_split()) return split_fprop(x, context);
  Tensor y = named_fprop("ffn1", *in_, x, context);
  if (gate_) y = ops::mul(named_fprop("ffn1_gate", *gate_, x, context), y);
  if (dropout_) y = dropout_->fprop(y, context);
  return named_fprop("ffn2", *out_, y, context);
}

Tensor FeedForward::split_fprop(const Tensor& x, FpropContext& context) const {
  const std::vector<Tensor> x_blocks = ops::fan_out(x, hidden_axis_);
  std::vector<Tensor> y = named_columns("ffn1", *in_, x, x_blocks, context);
  if (gate_) {
    const std::vector<Tensor> gate = named_columns("ffn1_gate", *gate_, x, x_blocks, context);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = ops::mul(gate[i], y[i]);
  }
  for (std::size_t i = 0; dropout_ && i < y.size(); ++i) {
    const BlockKey key(context, hidden_axis_.first() + static_cast<std::int64_t>(i));
    y[i] = dropout_->fprop(y[i], context);
  }
  return named_rows("ffn2", *out_, y, context);
}

const void* FeedForward::extension(std::string_view id) const noexcept {
  if (id != kLayerLocalInTime) return nullptr;
  for (const std::shared_ptr<Layer>* product : {&in_, &gate_, &out_}) {
    if (*product != nullptr && (*product)->extension(id) == nullptr) return nullptr;
  }
  return this;
}

}  // namespace trivet::nn
