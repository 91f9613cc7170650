// SPDX-License-Identifier: Apache-2.0
// TransformerBlock: a block with the norms in front ("pre-LN", Xiong et al. 2020; as in ViT and
// GPT-2), x [B, T, input_dims] -> the same shape.
//
//   h = x + dropout(attention(attention_norm(x)))
//   y = h + dropout(mlp_out(dropout(activation(mlp_in(mlp_norm(h))))))
//
// Children: the nn/LayerNorm "attention_norm" and "mlp_norm", the nn/MultiHeadAttention
// "attention", and the nn/Linear "mlp_in" and "mlp_out".
#pragma once

#include <memory>
#include <string>

#include "trivet/layer.h"

namespace trivet::nn {

struct TransformerBlockConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t hidden_dims = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  bool causal = false;
  ConfigOf<Layer> activation = "nn/Gelu";
  double dropout = 0;
  double norm_epsilon = 1e-6;
  InitConfig init;

  void validate(Problems& problems) const;
};
TRIVET_CONFIG(TransformerBlockConfig, trivet::LayerConfig,
              (input_dims, "Depth of the input and of the output.", required, at_least(1)),
              (hidden_dims, "Depth between the Mlp's two layers; 0: 4 * input_dims.", at_least(0)),
              (num_heads, "Heads of the attention.", required, at_least(1)),
              (num_kv_heads, "Heads of its keys and values; 0: num_heads.", at_least(0)),
              (causal, "A place sees itself and those before it only."),
              (activation, "Between the Mlp's two layers."),
              (dropout, "Share of the elements dropped in training, at each of the three places.",
               at_least(0), less_than(1)),
              (norm_epsilon, "Epsilon of the norms.", more_than(0)),
              (init, "How the weights start; by default as nn/Linear's."))

class TransformerBlock final : public Layer {
 public:
  using Config = TransformerBlockConfig;
  TransformerBlock(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  std::shared_ptr<Layer> attention_norm_, attention_, attention_dropout_;
  std::shared_ptr<Layer> mlp_norm_, mlp_in_, mlp_dropout_, mlp_out_, output_dropout_;
};

}  // namespace trivet::nn
