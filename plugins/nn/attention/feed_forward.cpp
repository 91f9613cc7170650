// SPDX-License-Identifier: Apache-2.0
#include "nn/attention/feed_forward.h"

#include "nn/basic/checks.h"
#include "nn/basic/parametrization.h"
#include "nn/basic/templates.h"
#include "nn/remat/checkpoint_policy.h"
#include "trivet/ops.h"

namespace trivet::nn {

FeedForward::FeedForward(const Config& config, Scope& scope, const std::string& prefix)
    : path_(scope.path()),
      input_dims_(expect_set("nn/FeedForward", path_, "input_dims", config.input_dims)) {
  const std::int64_t hidden = config.hidden_dims > 0 ? config.hidden_dims : 4 * input_dims_;
  const bool gated = config.use_gated_activation;
  const auto product = [&](const char* name, const ConfigOf<Layer>& activation) {
    const ConfigOf<Layer> layer = linear(input_dims_, hidden, config.has_bias, config.init,
                                         lora_of(config.lora, name), activation);
    return scope.layer(prefix + name,
                       parametrized(layer, config.parametrization, config.input_quantization));
  };
  in_ = product("in", gated ? ConfigOf<Layer>() : config.activation);
  if (gated) gate_ = product("gate", config.activation);
  dropout_ = scope.layer(prefix + "dropout", dropout(config.relu_dropout));
  const ConfigOf<Layer> last =
      linear(hidden, input_dims_, config.has_bias, init_or(config.output_init, config.init),
             lora_of(config.lora, "out"));
  out_ = scope.layer(prefix + "out",
                     parametrized(last, config.parametrization, config.input_quantization));
}

Tensor FeedForward::fprop(const Tensor& x, FpropContext& context) {
  expect_last("nn/FeedForward", path_, x, input_dims_);
  Tensor y = named_fprop("ffn1", *in_, x, context);
  if (gate_) y = ops::mul(named_fprop("ffn1_gate", *gate_, x, context), y);
  if (dropout_) y = dropout_->fprop(y, context);
  return named_fprop("ffn2", *out_, y, context);
}

const void* FeedForward::extension(std::string_view id) const noexcept {
  if (id != kLayerLocalInTime) return nullptr;
  for (const std::shared_ptr<Layer>* product : {&in_, &gate_, &out_}) {
    if (*product != nullptr && (*product)->extension(id) == nullptr) return nullptr;
  }
  return this;
}

}  // namespace trivet::nn
