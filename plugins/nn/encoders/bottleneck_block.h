// SPDX-License-Identifier: Apache-2.0
// BottleneckBlock: the thin transformer block of MobileBERT (Sun et al. 2020, section 3.1 and table
// 1), x [B, T, input_dims] -> the same shape. Attention and feed-forward layers have d =
// bottleneck_dims features:
//
//   b = bottleneck_norm(x bottleneck + b)                         [B, T, d]
//   s = shared_norm(x shared + b)                                 [B, T, d]
//   h = attention_norm(b + attention(queries and keys of s, values of x))
//   h = ffn_i_norm(h + ffn_i_out(activation(ffn_i_in(h))))        i = 0 .. num_feedforward_networks
//   y = output_norm(x + dropout(h output + b))
//
// With use_bottleneck_attention, queries, keys and values are of b, and there is no s; else,
// without key_query_shared_bottleneck, all three are of x. The norms are nn/NoNorm, the paper's for
// the small model, unless norm_tpl says otherwise.
//
//   block_tpl = { type = "nn/BottleneckBlock" }
//
// Children: the norms; the nn/Linear "bottleneck", "shared", "attention/query", "attention/key",
// "attention/value", "attention/output", "ffn_i/in", "ffn_i/out" and "output". Where the context
// has segment_ids or paddings, a position sees its own segment only. For encoders: it sees later
// positions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trivet/layer.h"

namespace trivet::nn {

struct BottleneckBlockConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t hidden_dims = 0;
  std::int64_t num_heads = 0;
  std::int64_t bottleneck_dims = 128;
  bool use_bottleneck_attention = false;
  bool key_query_shared_bottleneck = true;
  std::int64_t num_feedforward_networks = 4;
  ConfigOf<Layer> activation = "nn/Relu";
  ConfigOf<Layer> norm_tpl = "nn/NoNorm";
  double dropout = 0;
  double atten_dropout = 0;
  InitConfig init;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    BottleneckBlockConfig, trivet::LayerConfig,
    (input_dims, "Depth of the input and of the output; 0 in a template: as the model around it.",
     at_least(0)),
    (hidden_dims, "Depth between the two layers of a feed-forward network; 0: 4 * bottleneck_dims.",
     at_least(0)),
    (num_heads, "Heads of the attention; 0 in a template: as the model around it.", at_least(0)),
    (bottleneck_dims, "Depth of attention and feed-forward networks.", at_least(1)),
    (use_bottleneck_attention, "Computes queries, keys and values from the bottleneck."),
    (key_query_shared_bottleneck,
     "Computes queries and keys from a bottleneck of their own; values from the input. No effect "
     "with use_bottleneck_attention."),
    (num_feedforward_networks, "Feed-forward networks after the attention.", between(1, 1000)),
    (activation, "Activation in the feed-forward networks."),
    (norm_tpl, "The norms; their dim is filled in."),
    (dropout, "Dropout rate of the output in training.", at_least(0), less_than(1), adjustable),
    (atten_dropout, "Share of the attention weights dropped in training.", at_least(0),
     less_than(1), adjustable),
    (init, "Initializer of the weights. Default: that of nn/Linear."))

class BottleneckBlock final : public Layer {
 public:
  using Config = BottleneckBlockConfig;
  BottleneckBlock(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  // A linear layer and the norm of its output, or, for a residual, of the sum. The norm may be
  // null.
  struct Normed {
    std::shared_ptr<Layer> linear, norm;
  };
  struct FeedForwardNetwork {
    std::shared_ptr<Layer> in, out, norm;
  };
  Tensor attend(const Tensor& x, const Tensor& b, FpropContext& context) const;

  std::string path_;
  std::int64_t input_dims_, dims_, heads_;
  bool of_bottleneck_;
  float atten_dropout_;
  Normed bottleneck_, shared_, output_;  // shared_ may have no linear
  std::shared_ptr<Layer> query_, key_, value_, attention_output_, attention_norm_, dropout_;
  std::vector<FeedForwardNetwork> networks_;
};

}  // namespace trivet::nn
