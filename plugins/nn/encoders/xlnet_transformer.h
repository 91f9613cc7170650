// SPDX-License-Identifier: Apache-2.0
// XlnetTransformer: a stack of nn/XlnetBlock, x [B, T, D] -> the same shape (Yang et al. 2019,
// "XLNet"). The names are Model Garden's.
//
//   stacked_transformer_tpl = { type = "nn/XlnetTransformer", two_stream = true }
//   block_tpl = "nn/XlnetBlock"
//
// With two_stream there are two streams of hidden states (section 2.3), by the same weights. The
// content stream starts as x; position i sees itself and what the batch's permutation lets it know
// (trivet/layer/token_fields.h). The query stream starts as "mask_emb" at the tokens to predict and
// as x elsewhere; its positions see the content stream, but not i = j. The output is the query
// stream, so a position knows where its token is and not what it is. Without two_stream the output
// is the content stream and there is no permutation; the weights are the same but for "mask_emb".
//
// Block i is the child "layer_i". Parameters: "mask_emb" [D] with two_stream; with
// tie_attention_biases "content_bias", "position_bias" and "segment_bias" [num_heads,
// dims_per_head], which are the blocks' own otherwise. All start normal with standard deviation
// 0.02.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nn/encoders/xlnet_block.h"

namespace trivet::nn {

enum class AttentionType {
  bi,   // both directions
  uni,  // no later positions
};
TRIVET_ENUM(AttentionType, bi, uni)

struct XlnetTransformerConfig : LayerConfig {
  std::int64_t num_layers = 0;
  ConfigOf<Layer> transformer_layer_params_tpl;
  double input_dropout_prob = 0;
  AttentionType attention_type = AttentionType::bi;
  bool two_stream = false;
  bool tie_attention_biases = false;
  std::int64_t clamp_length = 0;
  bool segment_encoding = true;
  bool use_cls_mask = false;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    XlnetTransformerConfig, trivet::LayerConfig,
    (num_layers, "Number of blocks; 0 in a template: as the model around it.", between(0, 100000)),
    (transformer_layer_params_tpl, "The block, an nn/XlnetBlock; none in a template: the model's."),
    (input_dropout_prob,
     "Share of the elements of both streams' start and of the sines dropped in training.",
     at_least(0), less_than(1), adjustable),
    (attention_type, "Directions of attention: bi sees all positions, uni no later ones."),
    (two_stream,
     "Adds the stream that predicts tokens in the order of a permutation; needs permutation in the "
     "input."),
    (tie_attention_biases, "Has one set of attention biases for all blocks."),
    (clamp_length, "Distances beyond this count as this; 0: no limit.", between(0, 2147483647)),
    (segment_encoding,
     "Scores whether two positions have equal token types. It has no effect on a batch without "
     "token_type_ids."),
    (use_cls_mask, "Counts the token type 2, that of a class token, as equal to all."))

class XlnetTransformer final : public Layer, public TokenFieldsReader {
 public:
  using Config = XlnetTransformerConfig;
  XlnetTransformer(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  Tensor fprop(const Tensor& x, const TokenFields& fields, FpropContext& context) override;
  const void* extension(std::string_view id) const noexcept override;

 private:
  void check(const Tensor& x, const TokenFields& fields) const;

  std::string path_;
  std::int64_t input_dims_ = 0;
  XlnetSightRules rules_;
  std::shared_ptr<Layer> dropout_, position_dropout_;
  Parameter* mask_emb_ = nullptr;        // null without two streams
  std::unique_ptr<XlnetBiases> biases_;  // null if the blocks have their own
  std::vector<std::shared_ptr<Layer>> layers_;
  std::vector<const XlnetBlock*> blocks_;  // of layers_
};

}  // namespace trivet::nn
