// SPDX-License-Identifier: Apache-2.0
// ReuseBlock: a transformer block some of whose heads take the attention weights of the block below
// (Bhojanapalli et al. 2021, "Leveraging redundancy in attention with Reuse Transformers"), x [B,
// T, input_dims] -> the same shape. With H heads, K = reuse_heads of which reuse,
//
//   P = [softmax(q k^T / sqrt(D)) of H - K heads; heads 0 to K - 1 of the P below]   [B, H, T, T]
//   attention(x) = (P v of each head, side by side) output + b
//
// With use_relative_pe, b_(j - i) of each head is added to q_i k_j / sqrt(D), and distances from
// pe_max_seq_length on have the number of pe_max_seq_length - 1. The numbers are the parameter
// "attention/relative_pe" [2 * pe_max_seq_length - 1, H - K], from the farthest position before to
// the farthest behind, truncated normal with standard deviation 0.2 at the start.
//
// q, k and b have H - K heads and do not exist for K = H. Around the attention and the feed-forward
// part (nn/FeedForward) are sums and norms as in nn/TransformerBlock, with norm_policy pre or
// post_skip. The heads that are computed come first, so a block above prefers them, as in Model
// Garden.
//
// nn/ReuseTransformer stacks such blocks and hands P on. Alone, a block has nothing to reuse. A
// position sees its segment of the context only. P exists for all pairs of positions.
//
// Children: "attention_norm", "attention/query", "attention/key", "attention/value",
// "attention/output", "mlp_norm", "mlp_in" and "mlp_out".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "nn/attention/transformer_block.h"
#include "trivet/layer.h"

namespace trivet::nn {

struct ReuseBlockConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t hidden_dims = 0;
  std::int64_t num_heads = 0;
  std::int64_t reuse_heads = 0;
  ConfigOf<Layer> activation = "nn/Gelu";
  double dropout = 0;
  double atten_dropout = 0;
  bool use_relative_pe = false;
  std::optional<std::int64_t> pe_max_seq_length;
  NormPolicy norm_policy = NormPolicy::pre;
  ConfigOf<Layer> norm_tpl = "nn/LayerNorm";
  InitConfig init;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    ReuseBlockConfig, trivet::LayerConfig,
    (input_dims, "Depth of the input and of the output; 0 in a template: as the model around it.",
     at_least(0)),
    (hidden_dims, "Depth between the Mlp's two layers; 0: 4 * input_dims.", at_least(0)),
    (num_heads, "Heads of the attention; 0 in a template: as the model around it.", at_least(0)),
    (reuse_heads, "Heads with the weights of the block below; nn/ReuseTransformer sets it.",
     at_least(0)),
    (activation, "Activation between the Mlp's two layers."),
    (dropout, "Dropout rate in training, after the attention, inside the Mlp and after it.",
     at_least(0), less_than(1), adjustable),
    (atten_dropout, "Share of the attention weights dropped in training.", at_least(0),
     less_than(1), adjustable),
    (use_relative_pe,
     "Adds a learned number for each distance to the scores of heads that do not reuse."),
    (pe_max_seq_length,
     "Length of a sequence whose distances have numbers of their own, with use_relative_pe. "
     "Default: 512.",
     between(1, 10000000)),
    (norm_policy, "Placement of the norms: pre or post_skip."),
    (norm_tpl, "The norms; their dim is filled in."),
    (init, "Initializer of the weights. Default: that of nn/Linear."))

// The extension of a layer that is a ReuseBlock.
inline constexpr std::string_view kReuseBlockExtension = "nn.reuse_block/1";

class ReuseBlock final : public Layer {
 public:
  using Config = ReuseBlockConfig;
  ReuseBlock(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  const void* extension(std::string_view id) const noexcept override;
  // The same with the weights of the block below, which are replaced by those of this block.
  Tensor fprop(const Tensor& x, Tensor& weights, FpropContext& context) const;

 private:
  Tensor distance_bias(std::int64_t length) const;                   // [1, H - K, T, T]
  Tensor new_weights(const Tensor& x, FpropContext& context) const;  // [B, H - K, T, T]
  Tensor attend(const Tensor& x, Tensor& weights, FpropContext& context) const;

  std::string path_;
  std::int64_t input_dims_, heads_, reused_;
  bool norm_first_;
  float atten_dropout_;
  std::shared_ptr<Layer> attention_norm_, mlp_norm_, dropout_, mlp_dropout_;
  std::shared_ptr<Layer> query_, key_;  // null if all heads reuse
  std::shared_ptr<Layer> value_, output_, mlp_;
  Parameter* relative_pe_ = nullptr;  // null without relative positions
};

}  // namespace trivet::nn
