// SPDX-License-Identifier: Apache-2.0
// ReuseTransformer: a stack of nn/ReuseBlock, x [B, T, D] -> the same shape. Block 0 computes its
// attention weights. Blocks 1 to max_reuse_layer_idx take those of the block below for
// reuse_attention of their heads; blocks above compute theirs. The names are Model Garden's.
//
//   stacked_transformer_tpl = { type = "nn/ReuseTransformer", reuse_attention = -1 }
//   block_tpl = "nn/ReuseBlock"
//
// Block i is the child "layer_i". Dropout, "input_dropout", may precede the first block.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "nn/encoders/reuse_block.h"

namespace trivet::nn {

struct ReuseTransformerConfig : LayerConfig {
  std::int64_t num_layers = 0;
  ConfigOf<Layer> transformer_layer_params_tpl;
  double input_dropout_prob = 0;
  std::int64_t reuse_attention = -1;
  std::optional<std::int64_t> max_reuse_layer_idx;
};
TRIVET_CONFIG(
    ReuseTransformerConfig, trivet::LayerConfig,
    (num_layers, "Number of blocks; 0 in a template: as the model around it.", between(0, 100000)),
    (transformer_layer_params_tpl, "The block, an nn/ReuseBlock; none in a template: the model's."),
    (input_dropout_prob, "Share of the input's elements dropped in training.", at_least(0),
     less_than(1), adjustable),
    (reuse_attention, "Heads that take the weights of the block below; -1: all.", at_least(-1)),
    (max_reuse_layer_idx, "Number of the last block that reuses, from 0. Unset: the last block.",
     at_least(0)))

class ReuseTransformer final : public Layer {
 public:
  using Config = ReuseTransformerConfig;
  ReuseTransformer(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  std::shared_ptr<Layer> dropout_;
  std::vector<std::shared_ptr<Layer>> layers_;
  std::vector<const ReuseBlock*> blocks_;  // of layers_
};

}  // namespace trivet::nn
