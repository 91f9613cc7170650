// SPDX-License-Identifier: Apache-2.0
#include "transformer_block.h"

#include "multi_head_attention.h"
#include "trivet/ops.h"

namespace trivet::nn {
namespace {

ConfigOf<Layer> norm(const TransformerBlockConfig& config) {
  return {"nn/LayerNorm",
          Value::table({{"dim", config.input_dims}, {"epsilon", config.norm_epsilon}})};
}

ConfigOf<Layer> linear(std::int64_t in, std::int64_t out, const ConfigOf<Layer>& activation,
                       const InitConfig& init) {
  Value fields = Value::table({{"input_dims", in}, {"output_dims", out}, {"init", encode(init)}});
  if (activation) fields.set("activation", activation.to_value());
  return {"nn/Linear", std::move(fields)};
}

// Nothing for a rate of 0, so that nothing stands in the list of layers.
ConfigOf<Layer> dropout(double rate) {
  if (rate == 0) return {};
  return {"nn/Dropout", Value::table({{"rate", rate}})};
}

Tensor maybe(const std::shared_ptr<Layer>& layer, const Tensor& x, FpropContext& context) {
  return layer ? layer->fprop(x, context) : x;
}

}  // namespace

void TransformerBlockConfig::validate(Problems& problems) const {
  MultiHeadAttentionConfig attention;
  attention.input_dims = input_dims;
  attention.num_heads = num_heads;
  attention.num_kv_heads = num_kv_heads;
  attention.validate(problems);
}

TransformerBlock::TransformerBlock(const Config& config, Scope& scope) {
  const std::int64_t dims = config.input_dims;
  const std::int64_t hidden = config.hidden_dims > 0 ? config.hidden_dims : 4 * dims;
  attention_norm_ = scope.layer("attention_norm", norm(config));
  attention_ = scope.layer(
      "attention", {"nn/MultiHeadAttention", Value::table({{"input_dims", dims},
                                                           {"num_heads", config.num_heads},
                                                           {"num_kv_heads", config.num_kv_heads},
                                                           {"causal", config.causal},
                                                           {"init", encode(config.init)}})});
  attention_dropout_ = scope.layer("attention_dropout", dropout(config.dropout));
  mlp_norm_ = scope.layer("mlp_norm", norm(config));
  mlp_in_ = scope.layer("mlp_in", linear(dims, hidden, config.activation, config.init));
  mlp_dropout_ = scope.layer("mlp_dropout", dropout(config.dropout));
  mlp_out_ = scope.layer("mlp_out", linear(hidden, dims, {}, config.init));
  output_dropout_ = scope.layer("output_dropout", dropout(config.dropout));
}

Tensor TransformerBlock::fprop(const Tensor& x, FpropContext& context) {
  Tensor y = attention_->fprop(attention_norm_->fprop(x, context), context);
  const Tensor h = ops::add(x, maybe(attention_dropout_, y, context));
  y = mlp_in_->fprop(mlp_norm_->fprop(h, context), context);
  y = mlp_out_->fprop(maybe(mlp_dropout_, y, context), context);
  return ops::add(h, maybe(output_dropout_, y, context));
}

}  // namespace trivet::nn
