// SPDX-License-Identifier: Apache-2.0
// Shared by the transformers here: sizes, and layer templates completed with them.
#pragma once

#include <cstdint>

#include "trivet/layer.h"
#include "trivet/layer/split_dims.h"
#include "trivet/model.h"

namespace trivet::lm {

struct TransformerConfig : ModelConfig {
  std::int64_t vocab_size = 0;
  std::int64_t model_dims = 0;
  std::int64_t hidden_dims = 0;
  std::int64_t num_layers = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t max_seq_len = 0;
  double dropout = 0;
  ConfigOf<Layer> stacked_transformer_tpl = "nn/StackedTransformer";
  ConfigOf<Layer> block_tpl = "nn/TransformerBlock";
  ConfigOf<Layer> final_norm_tpl = "nn/LayerNorm";
  InitConfig init;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(TransformerConfig, trivet::ModelConfig,
              (vocab_size, "Size of the vocabulary. 0: that of the task's tokenizer.", at_least(0)),
              (model_dims, "Depth between the layers.", required, at_least(1)),
              (hidden_dims, "Depth within the blocks' feed-forward layers; 0: 4 * model_dims.",
               at_least(0)),
              (num_layers, "Number of blocks.", required, at_least(1)),
              (num_heads, "Number of attention heads.", required, at_least(1)),
              (num_kv_heads, "Number of heads of keys and values; 0: num_heads.", at_least(0)),
              (max_seq_len,
               "Maximum length of a sequence; 0: no limit, or that of position_emb. A longer "
               "sequence is an error, and generation stops there.",
               at_least(0)),
              (dropout, "Dropout rate in training, after the embedding and in the blocks.",
               at_least(0), less_than(1), adjustable),
              (stacked_transformer_tpl,
               "Blocks between embedding and final norm: num_layers of them, and the activations "
               "kept for gradients."),
              (block_tpl, "The block, unless stacked_transformer_tpl names one."),
              (final_norm_tpl, "Norm after the blocks."),
              (init, "Initializer of the weights. Default: that of each layer."))

// Axes of the mesh over which weights are split, by the names of Pax' set_sharding_annotations_v1:
// d is model_dims, f hidden_dims, n and h heads and their depth, v the vocabulary. Of experts e, m
// is model_dims and h hidden_dims.
struct ShardingConfig {
  SplitDims w_df = {"data", "mdl?"};
  SplitDims w_fd = {"mdl?", "data"};
  SplitDims w_dnh = {"data", "mdl?", ""};
  SplitDims w_vd = {"mdl?", "data"};
  SplitDims w_emh = {"data", "", "mdl?"};

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    ShardingConfig, trivet::NoBase,
    (w_df, "Axes of the first products of the feed-forward layers."),
    (w_fd, "Axes of the last product of the feed-forward layers."),
    (w_dnh, "Axes of the four products of attention; mdl splits heads only."),
    (w_vd, "Axes of the embedding and of the softmax; mdl splits the vocabulary only."),
    (w_emh,
     "Axes of the weights of experts: data or data_expert, and mdl for their hidden_dims only."))

// What the blocks of a stack attend to.
struct BlockSight {
  bool causal = false;           // no later positions
  bool cross_attention = false;  // also another sequence
};

// The stack of `num_layers` blocks. `sharding` may be null; it is that of blocks whose templates
// say nothing themselves. Throws Error if the config has no stack, and ConfigError for a sharding
// other than the default if the blocks have none.
ConfigOf<Layer> stack_of(const TransformerConfig& config, std::int64_t num_layers, BlockSight sight,
                         const ShardingConfig* sharding = nullptr);
// Throws ConfigError for a split of the config's sizes over the devices of the mesh along mdl that
// do not divide them.
void check_sharding(const ShardingConfig& sharding, const TransformerConfig& config,
                    const Mesh& mesh);
// A table for `num_classes` ids, for an embedding or a softmax. Null stays null, as below.
ConfigOf<Layer> table_of(ConfigOf<Layer> layer, std::int64_t num_classes,
                         const TransformerConfig& config);
// Whether weights can be split by the sharding's w_vd, and such a layer with this split unless its
// template says otherwise.
bool splits_vocabulary(const ConfigOf<Layer>& table);
ConfigOf<Layer> with_vocabulary_split(ConfigOf<Layer> table, const ShardingConfig& sharding);
ConfigOf<Layer> positions_of(ConfigOf<Layer> layer, const TransformerConfig& config);
ConfigOf<Layer> norm_of(ConfigOf<Layer> layer, const TransformerConfig& config);

// "nn/Linear" with a bias. `activation` may be "none".
ConfigOf<Layer> linear_of(std::int64_t input_dims, std::int64_t output_dims,
                          const Value& activation, const InitConfig& init);
// Null for a rate of 0.
ConfigOf<Layer> dropout_of(double rate);

// The longest sequence for max_seq_len and these positions; 0: no limit.
std::int64_t longest_of(const TransformerConfig& config, const ConfigOf<Layer>& positions);

// Throws ConfigError if the vocabulary size is not set.
void check_vocabulary(const TransformerConfig& config);
// Throws Error unless ids are i32 [B, T] and T is at most `longest` (0: no limit).
void check_ids(const char* model, const Tensor& ids, std::int64_t longest);

// Sets the batch's "segment_pos", "segment_ids", "paddings" and "task_ids" in the context, each if
// the batch has it.
void set_sequence_context(FpropContext& context, const Batch& batch);

}  // namespace trivet::lm
