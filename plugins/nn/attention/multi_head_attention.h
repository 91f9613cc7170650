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
//   dconv_qkv       an nn/CausalDepthwiseConv1d after each of the products (So et al. 2021, Primer),
//                   children "dconv_q", "dconv_k" and "dconv_v"
//   use_rotary_position_emb  rotary positions of q and k (Su et al. 2021) in the half-split layout
//                            (ops::rope), from the context's positions, else 0, 1, ..
//   qk_norm         an nn/RmsNorm of each head of q and of k (Henry et al. 2020), children
//                   "query_norm" and "key_norm"
//   per_dim_scale   q * 1.442695041 / sqrt(dims_per_head) * softplus(w) instead of the root alone,
//                   parameter "per_dim_scale" [dims_per_head], which starts at 0, where
//                   it equals the root. On by default in Praxis, off here.
//   rel_pos_emb_dim the relative positions of Transformer-XL (xl_positions.h), "pos_proj", "u", "v"
//   relative_bias   an nn/RelativeBias (T5) or nn/AlibiBias added to the scores, child
//                   "relative_bias"
//   atten_logit_cap c tanh(score / c)
//   window, right_context   position i sees positions i - window + 1 .. i + right_context: the mask
//                   of Praxis' LocalSelfAttention with left_context = window, for any block_size
//   attention_extra_logit   one more term exp(extra logit) in the denominator of the softmax
//   atten_dropout   dropout of the weights after the softmax
// A query that sees no key has weights of 0, as with Praxis' zero_fully_masked.
// With a bias, relative positions, an extra logit, the dropout or the context's inputs_indicator,
// every backend uses the fallback of attention, products and a softmax, which needs memory for the
// scores of all pairs.
//
// Where the context has segment_ids [B, T], positions of different segments do not see each other;
// padding sees and is seen by padding only. In causal attention, all positions of a segment see
// those that the context's inputs_indicator marks (prefix language models).
//
// With cross_attention, keys and values come from the context's cross_inputs [B, S, cross_dims],
// with cross_segment_ids and cross_paddings. Causality, window and positions do not apply.
//
// With a weight_split_dims_mapping of proj = ["data", "mdl", -1], the heads are split over the
// devices along mdl: each computes some heads, from their columns of "query" to their rows of
// "output" (nn/basic/linear.h), and draws a dropout of its own. Fewer kv heads than devices are
// shared by neighbors; their gradients are summed.
//
// Causal attention and cross-attention decode with a cache (trivet/layer/extend_step.h).
//
// Attention without dconv_qkv and rel_pos_emb_dim computes blocks of positions
// (trivet/layer/sequence_blocks.h): each block has its queries, and keys and values of all. Those
// of cross-attention are computed by all devices.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/attention/xl_positions.h"
#include "nn/basic/lora.h"
#include "nn/split/axis_split.h"
#include "trivet/layer.h"
#include "trivet/layer/extend_step.h"
#include "trivet/layer/sequence_blocks.h"
#include "trivet/ops.h"

namespace trivet::nn {

struct AttentionSplitConfig {
  SplitDims proj;

  void validate(Diagnostics& diagnostics) const { proj.check_rank(3, "proj", diagnostics); }
};
TRIVET_CONFIG(AttentionSplitConfig, trivet::NoBase,
              (proj,
               "Axes of input_dims, heads and dims_per_head of the four products, such as "
               "[\"data\", \"mdl\", -1]. mdl splits heads only."))

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
  bool dconv_qkv = false;
  std::int64_t dconv_kernel_size = 3;
  std::int64_t window = 0;
  std::optional<std::int64_t> right_context;
  double atten_logit_cap = 0;
  std::optional<double> attention_extra_logit;
  bool qk_norm = false;
  bool per_dim_scale = false;
  ConfigOf<Layer> relative_bias;
  std::int64_t rel_pos_emb_dim = 0;
  double atten_dropout = 0;
  bool cross_attention = false;
  std::int64_t cross_dims = 0;
  InitConfig init;
  InitConfig output_init;
  ConfigOf<Layer> parametrization;
  ConfigOf<Layer> input_quantization;
  LoraConfig lora;
  AttentionSplitConfig weight_split_dims_mapping;

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
    (dconv_qkv,
     "Convolves each feature of queries, keys and values over earlier positions, as in Primer."),
    (dconv_kernel_size, "Positions that the convolution of dconv_qkv reads.", between(1, 10000)),
    (window,
     "Size of the attention window: earlier keys at a smaller distance are visible. 0: no limit.",
     between(0, 2147483647)),
    (right_context,
     "Number of later positions that are visible, without causal. Unset: all of them. Praxis' "
     "local "
     "attention is a window with a right_context.",
     between(0, 2147483647)),
    (atten_logit_cap, "Bounds scores to c tanh(score / c); 0: no bound.", at_least(0)),
    (attention_extra_logit,
     "Adds exp(this number) to the denominator of the softmax, so that a position may attend to "
     "nothing. Unset: no such term. Slower: keeps the scores of all pairs."),
    (qk_norm, "Normalizes each head of queries and keys."),
    (per_dim_scale, "Scales each feature of the queries by a learned factor."),
    (relative_bias,
     "Layer whose output is added to the scores, such as nn/RelativeBias or nn/AlibiBias. Its "
     "num_heads are filled in. Slower: keeps the scores of all pairs."),
    (rel_pos_emb_dim,
     "Depth of the sines of the relative positions of Transformer-XL; 0: none. Slower: keeps the "
     "scores of all pairs, twice.",
     at_least(0)),
    (atten_dropout, "Share of the attention weights dropped in training.", at_least(0),
     less_than(1), adjustable),
    (cross_attention, "Computes keys and values from the context's cross_inputs."),
    (cross_dims, "Depth of cross_inputs; 0: input_dims.", at_least(0)),
    (init, "Initializer of the weights. Default: that of nn/Linear."),
    (output_init, "Initializer of the output projection. Default: init."),
    (parametrization, "Layer that makes the weights of each product from its w."),
    (input_quantization,
     "Layer that makes the input of each product, e.g. nn/ActivationQuantization."),
    (lora, "LoRA: low-rank matrices added to the weights of the projections, for fine-tuning."),
    (weight_split_dims_mapping,
     "Axes of the mesh over which the heads are split. Only mdl has an effect.", adjustable))

class MultiHeadAttention final : public DecodingLayer, public SequenceBlocks {
 public:
  using Config = MultiHeadAttentionConfig;
  MultiHeadAttention(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch,
                                         std::int64_t max_length) const override;
  Tensor extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) override;
  std::vector<Tensor> fprop_blocks(std::span<const Tensor> x, SequenceCut& cut) override;
  const void* extension(std::string_view id) const noexcept override;

 private:
  struct KeysAndValues {
    Tensor keys, values;  // [B, T, kv_heads, head_dims]
  };
  enum Product : std::size_t { kQuery, kKey, kValue };
  void check_input(const Tensor& x) const;
  // The caches of the convolutions are null without a cache.
  Tensor by_head(Product product, const Tensor& x, LayerCaches* convolved,
                 FpropContext& context) const;
  // Positions are read only if they are needed.
  Tensor queries(const Tensor& x, const Tensor& positions, LayerCaches* convolved,
                 FpropContext& context) const;
  KeysAndValues keys_and_values(const Tensor& x, const Tensor& positions, LayerCaches* convolved,
                                FpropContext& context) const;
  // The source of cross-attention.
  struct Source {
    KeysAndValues kv;
    Tensor segments;         // i32 [B, S], or undefined
    bool segmented = false;  // shares segment ids with x
  };
  Source cross_source(const Tensor& x, FpropContext& context) const;
  bool positioned() const { return rotary_ || relative_bias_ != nullptr; }
  // For queries whose first is at place `first` of the keys.
  ops::AttentionOptions options(const FpropContext& context, std::int64_t first = 0) const;
  // The bias for queries and keys at these positions i32 [B, Tq] and [B, Tkv], [1 or B, ..]. One
  // row suffices if all rows have equal positions.
  Tensor bias(const Tensor& at, const Tensor& of, bool alike, FpropContext& context) const;
  // Adds the scores of relative positions, if any. `known` is null without a cache.
  Tensor attend(const Tensor& q, const KeysAndValues& kv, ops::AttentionOptions options,
                SequenceBuffer* known, FpropContext& context) const;
  Tensor cross_extend_step(const Tensor& x, LayerCache& cache, FpropContext& context);
  Tensor cross_attend(const Tensor& x, const Source& source, FpropContext& context) const;

  // Queries, keys and values of each block of heads.
  struct HeadBlocks {
    std::vector<Tensor> q, keys, values;
  };
  bool shares_kv_heads() const { return kv_heads_ % heads_axis_.extent() != 0; }
  // Of a whole q, keys and values.
  HeadBlocks blocks_of(const Tensor& q, const KeysAndValues& kv) const;
  std::vector<Tensor> kv_blocks(const Tensor& whole) const;
  // Of x, without making the whole.
  bool makes_blocks() const;
  HeadBlocks make_blocks(const Tensor& x, const Tensor& positions, FpropContext& context) const;
  Tensor query_scale() const;
  // The results of attention, [B, T, head_dims of the block]: one where heads are not in blocks.
  std::vector<Tensor> mixed_blocks(const HeadBlocks& blocks,
                                   const ops::AttentionOptions& options) const;
  Tensor output_of(std::span<const Tensor> mixed, FpropContext& context) const;
  HeadBlocks projected(const Tensor& x, FpropContext& context) const;
  // What the block [begin, begin + run.count) of the positions of x asks, with the keys of all.
  ops::AttentionOptions run_options(const Tensor& x, std::int64_t begin,
                                    const SequenceCut::Run& run, const Tensor& keys,
                                    const SequenceCut& cut, FpropContext& context) const;
  std::vector<Tensor> cross_blocks(std::span<const Tensor> x, SequenceCut& cut) const;
  Tensor attend_runs(const Tensor& x, const HeadBlocks& blocks, std::size_t i,
                     const SequenceCut& cut, FpropContext& context) const;

  std::string path_;
  Device& device_;
  std::int64_t input_dims_, heads_, kv_heads_, head_dims_, cross_dims_;
  MeshAxis heads_axis_;  // that the heads are split over
  bool causal_, cross_, rotary_;
  std::int64_t right_context_;  // 0 if it is causal or unlimited
  bool right_limit_;
  float theta_;
  std::int64_t rotary_dims_, window_;
  float softcap_, dropout_;
  std::optional<float> extra_logit_;
  std::array<std::shared_ptr<Layer>, 3> products_, convolutions_;  // by Product
  std::shared_ptr<Layer> output_;
  std::shared_ptr<Layer> query_norm_, key_norm_, relative_bias_;  // null if not used
  Parameter* per_dim_scale_ = nullptr;
  std::optional<XlPositions> relative_;
};

}  // namespace trivet::nn
