// SPDX-License-Identifier: Apache-2.0
// StackedTransformer: `num_layers` blocks made of one template, x [B, T, D] -> the same shape.
// Block i is the child "layer_i". Dropout, "input_dropout", may precede the first block. Field
// names are those of Praxis' StackedTransformer; the template sets dimensions and heads.
//
// dropout_prob sets atten_dropout, residual_dropout and relu_dropout of the template if they are
// unset (and it has no `dropout`). The blocks in moe_layers use moe_layer_tpl as their ffn_tpl,
// those in attention_layers attention_layer_tpl as their attention_tpl: a stack that mixes
// positions in other ways below and attends at the top (Lee-Thorp and Ainslie 2022, "Sparse
// Mixers").
//
// On a mesh with devices along stage, the blocks of training steps are a pipeline
// (trivet/layer/pipeline.h), with Praxis' names: `pipeline.num_microbatches` parts of the batch,
// or parts of `pipeline.microbatch_size` examples, go through the stages one after another. The
// blocks of a stage are neighbors, or with pipeline.circular_repeat V, V runs of neighbors.
//
// On a mesh with devices along seq, the blocks of training steps compute a part of the positions on
// each of them (trivet/layer/sequence_blocks.h), in the stages of a pipeline, too.
//
// Decodes with a cache if the blocks do (trivet/layer/extend_step.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "nn/basic/containers.h"
#include "trivet/layer/pipeline.h"

namespace trivet::nn {

struct PipelineConfig {
  std::int64_t num_microbatches = 0;
  std::int64_t microbatch_size = 0;
  std::int64_t circular_repeat = 1;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(PipelineConfig, trivet::NoBase,
              (num_microbatches,
               "Parts of a shard's batch that follow one another through the stages; 0: as many as "
               "stages, unless microbatch_size is set.",
               at_least(0)),
              (microbatch_size, "Examples of each part; 0: num_microbatches says.", at_least(0)),
              (circular_repeat, "Times that a part goes through all stages.", between(1, 100000)))

struct StackedTransformerConfig : LayerConfig {
  std::int64_t num_layers = 0;
  ConfigOf<Layer> transformer_layer_params_tpl;
  double dropout_prob = 0;
  double input_dropout_prob = 0;
  std::vector<std::int64_t> moe_layers;
  ConfigOf<Layer> moe_layer_tpl;
  std::vector<std::int64_t> attention_layers;
  ConfigOf<Layer> attention_layer_tpl = "nn/MultiHeadAttention";
  CheckpointPolicy checkpoint_policy = CheckpointPolicy::save_everything;
  PipelineConfig pipeline;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    StackedTransformerConfig, trivet::LayerConfig,
    (num_layers, "Number of blocks; 0 in a template: as the model around it.", between(0, 100000)),
    (transformer_layer_params_tpl,
     "The block, e.g. nn/TransformerBlock; none in a template: that of the model."),
    (dropout_prob, "Dropout of all kinds in the blocks, see stacked_transformer.h.", at_least(0),
     less_than(1), adjustable),
    (input_dropout_prob, "Share of the input's elements dropped in training.", at_least(0),
     less_than(1), adjustable),
    (moe_layers, "Numbers of the blocks with experts, from 0.", at_least(0)),
    (moe_layer_tpl, "Feed-forward layer of the blocks in moe_layers, such as nn/MoeFeedForward."),
    (attention_layers, "Numbers of the blocks with another attention than the template's, from 0.",
     at_least(0)),
    (attention_layer_tpl, "Attention of the blocks in attention_layers."),
    (checkpoint_policy, "Activations of each block that are kept for its gradients.", adjustable),
    (pipeline, "How a batch goes through the stages of a mesh that has devices along stage."))

class StackedTransformer final : public InTurn {
 public:
  using Config = StackedTransformerConfig;
  StackedTransformer(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  PipelineShape shape_of(const Tensor& x) const;
  // Of the input of the first block.
  Tensor fprop_stages(const Tensor& x, FpropContext& context);
  // Of the input of block `first`.
  Tensor fprop_positions(const Tensor& x, FpropContext& context, std::size_t first,
                         std::size_t end);

  std::string path_;
  PipelineConfig pipeline_;
  MeshAxis stages_, positions_;
  std::size_t first_block_ = 0;
  std::size_t blocks_of_part_ = 0;
};

}  // namespace trivet::nn
