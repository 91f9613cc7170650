// SPDX-License-Identifier: Apache-2.0
// MultiHeadAttention: attention of Vaswani et al. 2017, x [B, T, input_dims] -> the same shape.
//
//   head h: softmax(q_h k_h^T / sqrt(dims_per_head)) v_h,  q, k, v = x w + b each;
//   y = all heads side by side, times "output".
//
// With num_kv_heads < num_heads, heads share keys and values in groups (Ainslie et al. 2023; one is
// multi-query attention, Shazeer 2019). Children are the nn/Linear "query", "key", "value" and
// "output", so parameters are "query/w" [input_dims, num_heads * dims_per_head], "query/b", ...,
// "output/w" [num_heads * dims_per_head, input_dims], "output/b".
//
// Options, in the order of Praxis' DotProductAttention:
//   use_rotary_position_emb  rotary positions of q and k (Su et al. 2021) in the half-split layout
//                            (ops::rope), from the context's positions, else 0, 1, ..
//   qk_norm         an nn/RmsNorm of each head of q and of k (Henry et al. 2020), children
//                   "query_norm" and "key_norm"
//   per_dim_scale   q * 1.442695041 / sqrt(dims_per_head) * softplus(w) instead of the root alone,
//                   parameter "per_dim_scale" [dims_per_head], which starts at 0, where
//                   it equals the root. On by default in Praxis, off here.
//   relative_bias   an nn/RelativeBias (T5) added to the scores, child "relative_bias"
//   atten_logit_cap c tanh(score / c)
//   window          only keys at a distance below it
//   atten_dropout   dropout of the weights after the softmax
// With the bias, the dropout or the context's inputs_indicator, every backend uses the fallback of
// attention, products and a softmax, which needs memory for the scores of all pairs.
//
// Where the context has segment_ids [B, T], positions of different segments do not see each other;
// padding sees and is seen by padding only. In causal attention, all positions of a segment see
// those that the context's inputs_indicator marks (prefix language models).
//
// With cross_attention, keys and values come from the context's cross_inputs [B, S, cross_dims],
// with cross_segment_ids and cross_paddings. Causality, window and positions do not apply.
//
// Causal attention and cross-attention decode with a cache (trivet/layer/extend_step.h).
#pragma once

#include <memory>
#include <string>

#include "nn/basic/lora.h"
#include "trivet/layer.h"
#include "trivet/layer/extend_step.h"
#include "trivet/ops.h"

namespace trivet::nn {

struct MultiHeadAttentionConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t dims_per_head = 0;
  bool causal = false;
  bool has_bias = true;
  bool use_rotary_position_emb = false;
  double rotary_theta = 10000;
  std::int64_t rotary_dims = 0;
  std::int64_t window = 0;
  double atten_logit_cap = 0;
  bool qk_norm = false;
  bool per_dim_scale = false;
  ConfigOf<Layer> relative_bias;
  double atten_dropout = 0;
  bool cross_attention = false;
  std::int64_t cross_dims = 0;
  InitConfig init;
  InitConfig output_init;
  LoraConfig lora;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    MultiHeadAttentionConfig, trivet::LayerConfig,
    (input_dims, "Depth of the input and of the output; 0 in a template: as the layer around it.",
     at_least(0)),
    (num_heads, "Heads of the queries; 0 in a template: as the layer around it says.", at_least(0)),
    (num_kv_heads, "Heads of keys and values; 0: num_heads.", at_least(0)),
    (dims_per_head, "Depth of a head; 0: input_dims / num_heads.", at_least(0)),
    (causal, "Causal attention: a position sees itself and earlier positions only."),
    (has_bias, "Adds bias vectors to the four products."),
    (use_rotary_position_emb, "Rotates queries and keys by their positions."),
    (rotary_theta, "Base of the angles: pair i rotates by theta^(-2 i / rotary_dims) per position.",
     more_than(0)),
    (rotary_dims, "Number of features of a head to rotate, an even number. 0: all.", at_least(0)),
    (window, "Size of the attention window: keys at a smaller distance are visible. 0: no limit.",
     between(0, 2147483647)),
    (atten_logit_cap, "Bounds scores to c tanh(score / c); 0: no bound.", at_least(0)),
    (qk_norm, "Normalizes each head of queries and keys."),
    (per_dim_scale, "Scales each feature of the queries by a learned factor."),
    (relative_bias,
     "Layer whose output is added to the scores, such as nn/RelativeBias. Its num_heads are filled "
     "in."),
    (atten_dropout, "Share of the attention weights dropped in training.", at_least(0),
     less_than(1), adjustable),
    (cross_attention, "Computes keys and values from the context's cross_inputs."),
    (cross_dims, "Depth of cross_inputs; 0: input_dims.", at_least(0)),
    (init, "Initializer of the weights. Default: that of nn/Linear."),
    (output_init, "Initializer of the output projection. Default: init."),
    (lora, "LoRA: low-rank matrices added to the weights of the projections, for fine-tuning."))

class MultiHeadAttention final : public DecodingLayer {
 public:
  using Config = MultiHeadAttentionConfig;
  MultiHeadAttention(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch,
                                         std::int64_t max_length) const override;
  Tensor extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) override;

 private:
  struct KeysAndValues {
    Tensor keys, values;  // [B, T, kv_heads, head_dims]
  };
  void check_input(const Tensor& x) const;
  Tensor by_head(Layer& product, const Tensor& x, std::int64_t heads, FpropContext& context) const;
  // Positions are read only if they are needed.
  Tensor queries(const Tensor& x, const Tensor& positions, FpropContext& context) const;
  KeysAndValues keys_and_values(const Tensor& x, const Tensor& positions,
                                FpropContext& context) const;
  // The source of cross-attention.
  struct Source {
    KeysAndValues kv;
    Tensor segments;         // i32 [B, S], or undefined
    bool segmented = false;  // shares segment ids with x
  };
  Source cross_source(const Tensor& x, FpropContext& context) const;
  bool positioned() const { return rotary_ || relative_bias_ != nullptr; }
  ops::AttentionOptions options(const FpropContext& context) const;
  // The bias for queries and keys at these positions i32 [B, Tq] and [B, Tkv], [1 or B, ..]. One
  // row suffices if all rows have equal positions.
  Tensor bias(const Tensor& at, const Tensor& of, bool alike, FpropContext& context) const;
  Tensor attend(const Tensor& q, const KeysAndValues& kv, const ops::AttentionOptions& options,
                FpropContext& context) const;
  Tensor cross_extend_step(const Tensor& x, LayerCache& cache, FpropContext& context);
  Tensor cross_attend(const Tensor& x, const Source& source, FpropContext& context) const;

  std::string path_;
  Device& device_;
  std::int64_t input_dims_, heads_, kv_heads_, head_dims_, cross_dims_;
  bool causal_, cross_, rotary_;
  float theta_;
  std::int64_t rotary_dims_, window_;
  float softcap_, dropout_;
  std::shared_ptr<Layer> query_, key_, value_, output_;
  std::shared_ptr<Layer> query_norm_, key_norm_, relative_bias_;  // null if not used
  Parameter* per_dim_scale_ = nullptr;
};

}  // namespace trivet::nn
