// SPDX-License-Identifier: Apache-2.0
// TransformerBlock: attention and a feed-forward part (Vaswani et al. 2017), x [B, T, input_dims]
// -> the same shape.
//
//   h = x + f(x), f = attention;   y = h + f(h), f = out(dropout(activation(in(..))))
//
// and norms around each of them, placed by norm_policy (Praxis' names; D is dropout):
//   pre             x + D(f(norm(x)))                    Xiong et al. 2020, as in ViT and GPT-2
//   primer_hybrid   x + D(post_norm(f(norm(x))))         So et al. 2021
//   post            x + D(norm(f(x)))
//   post_skip       norm(x + D(f(x)))                    Vaswani et al. 2017, as in BERT
// With residual_droppath_prob, D also drops whole examples (nn/DropPath).
//
// Children: the norms "attention_norm" and "mlp_norm" (primer_hybrid has also "attention_post_norm"
// and "mlp_post_norm"), the "attention", an nn/MultiHeadAttention unless attention_tpl is set, and
// the nn/Linear "mlp_in", "mlp_gate" if it is gated (as in nn/FeedForward) and "mlp_out"; or, with
// ffn_tpl, the one layer "feed_forward", beside which activation and use_gated_activation of the
// block are refused. With cross_attention, a second attention to the context's
// cross_inputs comes between the two, with children "cross_norm", "cross_attention" and
// "cross_post_norm" (encoder-decoder).
//
// `lora` applies to the products of attention and Mlp, and to templates with that field (lora.h).
// With adapter_dims, a residual adapter (Houlsby et al. 2019; Praxis' ResidualAdapter) follows
// each block,
//   y + adapter_out(relu(adapter_in(adapter_norm(y))))
// with nn/Linear and adapter_dims features in between. adapter_out starts at 0, so the block starts
// as one without an adapter. With adapter_tasks, each task has weights of its own, which the task
// ids of the context choose (task_adapter.h, Praxis' MultitaskResidualAdapter). The variables are
// then adapter_down_w, adapter_down_b, adapter_up_w and adapter_up_b; the norm is of all tasks.
//
// The weight_split_dims_mapping is that of the attention (proj) and of the feed-forward part (ffn0,
// ffn1), unless their templates say something else or have no such field. All other weights are
// whole.
//
// Decodes with a cache if its attention does (trivet/layer/extend_step.h), and computes blocks of
// positions if its attention does (trivet/layer/sequence_blocks.h).
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/basic/lora.h"
#include "trivet/layer.h"
#include "trivet/layer/extend_step.h"
#include "trivet/layer/sequence_blocks.h"
#include "trivet/layer/split_dims.h"

namespace trivet::nn {

enum class NormPolicy { pre, primer_hybrid, post, post_skip };
TRIVET_ENUM(NormPolicy, pre, primer_hybrid, post, post_skip)

struct TransformerBlockSplitConfig {
  SplitDims proj, ffn0, ffn1;

  void validate(Diagnostics& diagnostics) const {
    proj.check_rank(3, "proj", diagnostics);
    ffn0.check_rank(2, "ffn0", diagnostics);
    ffn1.check_rank(2, "ffn1", diagnostics);
  }
};
TRIVET_CONFIG(TransformerBlockSplitConfig, trivet::NoBase,
              (proj, "Axes of input_dims, heads and dims_per_head of the products of attention."),
              (ffn0, "Axes of input_dims and hidden_dims of the first products of the Mlp."),
              (ffn1, "Axes of hidden_dims and input_dims of the last product of the Mlp."))

struct TransformerBlockConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t hidden_dims = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  bool causal = false;
  ConfigOf<Layer> activation = "nn/Gelu";
  bool use_gated_activation = false;
  bool has_bias = true;
  double dropout = 0;
  double residual_droppath_prob = 0;
  std::optional<double> residual_dropout;
  std::optional<double> relu_dropout;
  double atten_dropout = 0;
  NormPolicy norm_policy = NormPolicy::pre;
  ConfigOf<Layer> norm_tpl = "nn/LayerNorm";
  double norm_epsilon = 1e-6;
  ConfigOf<Layer> attention_tpl = "nn/MultiHeadAttention";
  ConfigOf<Layer> ffn_tpl;
  bool cross_attention = false;
  std::int64_t adapter_dims = 0;
  std::int64_t adapter_tasks = 0;
  std::optional<std::int64_t> adapter_task_id;
  LoraConfig lora;
  InitConfig init;
  InitConfig output_init;
  TransformerBlockSplitConfig weight_split_dims_mapping;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    TransformerBlockConfig, trivet::LayerConfig,
    (input_dims, "Depth of the input and of the output; 0 in a template: as the model around it.",
     at_least(0)),
    (hidden_dims, "Depth between the Mlp's two layers; 0: 4 * input_dims.", at_least(0)),
    (num_heads, "Heads of the attention; 0 in a template: as the model around it.", at_least(0)),
    (num_kv_heads, "Number of heads of keys and values; 0: num_heads.", at_least(0)),
    (causal, "Causal attention: a position sees itself and earlier positions only."),
    (activation, "Activation between the Mlp's two layers."),
    (use_gated_activation, "Activates a second product, which multiplies the first."),
    (has_bias, "Adds bias vectors to the products of attention and Mlp."),
    (dropout,
     "Dropout rate in training, applied to the attention output, inside the Mlp and to the Mlp "
     "output.",
     at_least(0), less_than(1), adjustable),
    (residual_dropout, "Dropout after attention and Mlp; default: as dropout.", at_least(0),
     less_than(1), adjustable),
    (residual_droppath_prob, "Share of the examples that skip attention or Mlp in training.",
     at_least(0), less_than(1), adjustable),
    (relu_dropout, "Dropout between the Mlp's layers; default: as dropout.", at_least(0),
     less_than(1), adjustable),
    (atten_dropout, "Dropout of attention weights; `dropout` leaves them alone.", at_least(0),
     less_than(1), adjustable),
    (norm_policy, "Placement of the norms."), (norm_tpl, "The norms; their dim is filled in."),
    (norm_epsilon, "Epsilon of the norms; other than 1e-6 it replaces that of norm_tpl.",
     more_than(0)),
    (attention_tpl, "The attention; the block's fields fill in what it leaves at its defaults."),
    (ffn_tpl,
     "A layer instead of the Mlp, e.g. of experts; its input_dims and hidden_dims are "
     "filled in. none: the Mlp."),
    (cross_attention, "Adds attention to the context's cross_inputs."),
    (adapter_dims, "Depth of a residual adapter after the block, for fine-tuning. 0: no adapter.",
     at_least(0)),
    (adapter_tasks,
     "Tasks that have an adapter of their own, chosen by the batch's task_ids. 0: one adapter for "
     "all.",
     at_least(0)),
    (adapter_task_id,
     "Task of rows whose batch has no task_ids, as of texts that the model writes. Unset: an "
     "error.",
     at_least(0), adjustable),
    (lora, "LoRA: low-rank matrices added to the weights of attention and Mlp, for fine-tuning."),
    (init, "Initializer of the weights. Default: that of nn/Linear."),
    (output_init, "Initializer of the output projections of attention and Mlp. Default: init."),
    (weight_split_dims_mapping,
     "Axes of the mesh over which the weights are split. Only mdl has an effect.", adjustable))

class TransformerBlock final : public DecodingLayer, public SequenceBlocks {
 public:
  using Config = TransformerBlockConfig;
  TransformerBlock(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch,
                                         std::int64_t max_length) const override;
  Tensor extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) override;
  std::vector<Tensor> fprop_blocks(std::span<const Tensor> x, SequenceCut& cut) override;
  const void* extension(std::string_view id) const noexcept override;

 private:
  // The layers between x and the sum: norm, layer, norm, dropout, drop path; then the norm of the
  // sum. Layers that the config leaves out are null.
  static constexpr std::size_t kParts = 6;
  using Branch = std::array<std::shared_ptr<Layer>, kParts>;
  // Runs layer `i` of all branches. It may be null.
  using Run = std::function<Tensor(std::size_t i, const Tensor& x)>;
  Tensor through(const Tensor& x, const Run& run) const;
  Layer* layer(std::size_t i) const { return branches_[i / kParts][i % kParts].get(); }

  std::string path_;
  std::vector<Branch> branches_;
};

}  // namespace trivet::nn
