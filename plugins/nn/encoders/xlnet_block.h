// SPDX-License-Identifier: Apache-2.0
// XlnetBlock: a block of XLNet (Yang et al. 2019, appendix A.2; Dai et al. 2019), x [B, T,
// input_dims] -> the same shape. With r_d the sines of the distance d = i - j and e_ij = 0 for
// positions with equal token types, else 1,
//
//   score_ij = ((q_i + u) k_j + (q_i + v) (W r_d) + (q_i + s) E[e_ij]) / sqrt(dims_per_head)
//   h = attention_norm(x + attention(x));   y = mlp_norm(h + mlp(h))
//
// Angles of the sines are d * 10000^(-2 i / input_dims), so input_dims is even. The products of the
// attention have no bias vectors. nn/XlnetTransformer stacks such blocks and says what positions
// see. Alone, a block sees its segment of the context in both directions, and token types are not
// known, so that E has no effect. The scores of all pairs of positions exist at once. A position
// that sees none has 0 as its attention.
//
// Children: "attention/query", "attention/key", "attention/value", "attention/position" (W),
// "attention/output", "attention_norm", "mlp_in", "mlp_out" and "mlp_norm". Parameters:
// "attention/content_bias" (u), "attention/position_bias" (v) and "attention/segment_bias" (s)
// [num_heads, dims_per_head], "attention/segment_encoding" (E) [2, num_heads, dims_per_head]; these
// are normal with standard deviation 0.02.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "nn/encoders/xlnet_sight.h"
#include "trivet/layer.h"

namespace trivet::nn {

struct XlnetBlockConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t hidden_dims = 0;
  std::int64_t num_heads = 0;
  std::int64_t dims_per_head = 0;
  bool has_attention_biases = true;
  bool has_segment_encoding = true;
  ConfigOf<Layer> activation = "nn/Gelu";
  double dropout = 0;
  double relu_dropout = 0;
  double atten_dropout = 0;
  ConfigOf<Layer> norm_tpl = "nn/LayerNorm";
  InitConfig init;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    XlnetBlockConfig, trivet::LayerConfig,
    (input_dims,
     "Depth of the input and of the output, an even number; 0 in a template: as the model around "
     "it.",
     at_least(0)),
    (hidden_dims, "Depth between the Mlp's two layers; 0: 4 * input_dims.", at_least(0)),
    (num_heads, "Heads of the attention; 0 in a template: as the model around it.", at_least(0)),
    (dims_per_head, "Depth of a head; 0: input_dims / num_heads.", at_least(0)),
    (has_attention_biases,
     "Has biases of content, position and segment of its own; nn/XlnetTransformer sets it."),
    (has_segment_encoding, "Scores equal and other token types; nn/XlnetTransformer sets it."),
    (activation, "Activation between the Mlp's two layers."),
    (dropout, "Dropout rate in training, after the attention and after the Mlp.", at_least(0),
     less_than(1), adjustable),
    (relu_dropout, "Dropout rate between the Mlp's two layers in training.", at_least(0),
     less_than(1), adjustable),
    (atten_dropout, "Share of the attention weights dropped in training.", at_least(0),
     less_than(1), adjustable),
    (norm_tpl, "The norms; their dim is filled in."),
    (init, "Initializer of the weights. Default: that of nn/Linear."))

// The standard deviation that biases and encodings start with.
inline constexpr double kXlnetBiasDeviation = 0.02;

// Vectors [num_heads, dims_per_head] that are added to the queries.
struct XlnetBiases {
  XlnetBiases(std::int64_t heads, std::int64_t head_dims, bool has_segment, const Scope& scope);
  Parameter *content, *position;
  Parameter* segment = nullptr;  // null without segment encodings
};

// The extension of a layer that is an XlnetBlock.
inline constexpr std::string_view kXlnetBlockExtension = "nn.xlnet_block/1";

class XlnetBlock final : public Layer {
 public:
  using Config = XlnetBlockConfig;
  XlnetBlock(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  const void* extension(std::string_view id) const noexcept override;
  // x [streams * B, T, input_dims]: all streams attend to the first. `shared` replaces the block's
  // own biases, if it is not null.
  Tensor fprop(const Tensor& x, const XlnetSight& sight, const XlnetBiases* shared,
               FpropContext& context) const;

 private:
  Tensor scores(const Tensor& q, const Tensor& k, const XlnetSight& sight,
                const XlnetBiases& biases, FpropContext& context) const;
  Tensor attend(const Tensor& x, const XlnetSight& sight, const XlnetBiases& biases,
                FpropContext& context) const;
  Tensor by_head(const Tensor& x) const;  // [B, T, H * D] -> [B, T, H, D]

  std::string path_;
  std::int64_t input_dims_, heads_, head_dims_;
  float atten_dropout_;
  std::shared_ptr<Layer> query_, key_, value_, position_, output_;
  std::unique_ptr<XlnetBiases> biases_;  // null if the stack has them
  Parameter* segment_encoding_ = nullptr;
  std::shared_ptr<Layer> attention_norm_, mlp_norm_, dropout_, mlp_dropout_, mlp_;
};

}  // namespace trivet::nn
