// SPDX-License-Identifier: Apache-2.0
// LanguageModel: the probabilities of each token from those before it (Praxis' TransformerLm).
//
//   x = embedding of ids (+ position_emb), stacked transformer, final norm, softmax
//
// Reads "ids" i32 [B, T] and, where the batch has them, "segment_pos", "segment_ids", "paddings"
// and, for model_type "prefix", "inputs_indicator". With "labels" and "weights" in the batch it
// gives "avg_xent" and "total_weight" (scalars) and "per_example_xent" f32 [B, T]; outside training
// also "per_example_argmax" i32 [B, T]. Without labels it gives "logits" [B, T, vocab_size].
//
// Templates (_tpl) are completed with the dimensions and options of the model where they leave them
// out. Children: "embedding", "position_emb", "transformer", "final_norm", "softmax".
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "trivet/extensions/next_token.h"
#include "trivet/model.h"
#include "trivet/softmax_head.h"

namespace trivet::lm {

// What a place sees.
enum class ModelType {
  causal,         // itself and the places before it
  prefix,         // also all places of the prefix, which the batch's "inputs_indicator" marks
  bidirectional,  // all places
};
TRIVET_ENUM(ModelType, causal, prefix, bidirectional)

struct LanguageModelConfig : ModelConfig {
  std::int64_t vocab_size = 0;
  std::int64_t model_dims = 0;
  std::int64_t hidden_dims = 0;
  std::int64_t num_layers = 0;
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t max_seq_len = 0;
  ModelType model_type = ModelType::causal;
  double dropout = 0;
  ConfigOf<Layer> embedding_tpl;
  ConfigOf<Layer> position_emb_tpl;
  ConfigOf<Layer> stacked_transformer_tpl = "nn/StackedTransformer";
  ConfigOf<Layer> block_tpl = "nn/TransformerBlock";
  ConfigOf<Layer> final_norm_tpl = "nn/LayerNorm";
  ConfigOf<Layer> softmax_tpl = "nn/SharedEmbeddingSoftmax";
  InitConfig init;

  void validate(Problems& problems) const;
};
TRIVET_CONFIG(LanguageModelConfig, trivet::ModelConfig,
              (vocab_size, "Tokens there are; 0: as many as the task's tokenizer has.",
               at_least(0)),
              (model_dims, "Depth between the layers.", required, at_least(1)),
              (hidden_dims, "Depth within the blocks' feed-forward layers; 0: 4 * model_dims.",
               at_least(0)),
              (num_layers, "Blocks.", required, at_least(1)),
              (num_heads, "Heads of the attention.", required, at_least(1)),
              (num_kv_heads, "Heads of its keys and values; 0: num_heads.", at_least(0)),
              (max_seq_len,
               "The longest sequence; 0: any, or what position_emb has room for. Longer ones are "
               "an error, and generation ends there.",
               at_least(0)),
              (model_type, "What a place sees."),
              (dropout,
               "Share of the elements dropped in training, behind the embedding and in "
               "the blocks.",
               at_least(0), less_than(1)),
              (embedding_tpl, "Of token ids; none: the table of the softmax, which must have one."),
              (position_emb_tpl,
               "Added to the embedding: nn/TrainablePositionalEmbedding, nn/PositionalEmbedding; "
               "none: positions are the blocks' (rotary) or nobody's."),
              (stacked_transformer_tpl,
               "What is between embedding and final norm: num_layers blocks, and what is kept of "
               "them for gradients."),
              (block_tpl, "The block, unless stacked_transformer_tpl names one."),
              (final_norm_tpl, "Before the softmax."),
              (softmax_tpl, "Logits and loss: nn/SharedEmbeddingSoftmax or nn/FullSoftmax."),
              (init, "How the weights start; by default as each layer's."))

class LanguageModel final : public Model, public NextToken {
 public:
  using Config = LanguageModelConfig;
  LanguageModel(const Config& config, Scope& scope);

  NestedMap fprop(const Batch& batch, FpropContext& context) override;
  const void* extension(std::string_view id) const noexcept override;

  std::int64_t vocabulary_size() const override { return head_->num_classes(); }
  std::int64_t longest_sequence() const override { return max_seq_len_; }
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch,
                                         std::int64_t max_length) const override;
  Tensor next_logits(const Tensor& ids, LayerCache* cache, FpropContext& context) const override;

 private:
  // Between embedding and softmax; null where there is none.
  std::array<Layer*, 3> layers() const {
    return {position_emb_.get(), transformer_.get(), final_norm_.get()};
  }
  Tensor hidden(const Tensor& ids, LayerCaches* caches, FpropContext& context) const;
  void check_ids(const Tensor& ids) const;

  ModelType model_type_;
  std::int64_t max_seq_len_;
  std::shared_ptr<Layer> embedding_, position_emb_, transformer_, final_norm_, softmax_;
  SoftmaxHead* head_;
};

}  // namespace trivet::lm
