// SPDX-License-Identifier: Apache-2.0
// LanguageModel: the probabilities of each token from those before it (Praxis' TransformerLm).
//
//   x = embedding of ids (+ position_emb), stacked transformer, final norm, softmax
//
// Reads "ids" i32 [B, T] and, if the batch has them, "segment_pos", "segment_ids", "paddings" and,
// for model_type "prefix", "inputs_indicator". With "labels" and "weights" in the batch it returns
// "avg_xent" and "total_weight" (scalars) and "per_example_xent" f32 [B, T]; outside training also
// "per_example_argmax" i32 [B, T]. Without labels it returns "logits" [B, T, vocab_size].
//
// With entropy_loss_weight c and labels, the auxiliary loss "avg_entropy_loss" is c * E, and E is
// an output of that name: the mean over the tokens, by their weights, of sum_c p_c log p_c, which
// is the negative entropy of a prediction (Praxis). c > 0 flattens the predictions, c < 0 sharpens
// them.
//
// On a mesh with several devices along mdl, `sharding` splits the products of the blocks, the
// vocabulary and the insides of experts over them (docs/meshes.md). Norms are whole. An axis of the
// batch for experts, as w_emh has it, lets processes compute with some experts each.
//
// Templates (_tpl) inherit the dimensions and options of the model that they do not set. Children:
// "embedding", "position_emb", "transformer", "final_norm", "softmax".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "lm/models/decoder.h"
#include "lm/models/label_scores.h"
#include "lm/models/token_embedding.h"
#include "trivet/extensions/next_token.h"
#include "trivet/layer/softmax_head.h"
#include "trivet/model.h"

namespace trivet::lm {

// The positions that a position attends to.
enum class ModelType {
  causal,         // itself and the positions before it
  prefix,         // also the prefix, marked in the batch's "inputs_indicator"
  bidirectional,  // all positions
};
TRIVET_ENUM(ModelType, causal, prefix, bidirectional)

struct LanguageModelConfig : TransformerConfig {
  ModelType model_type = ModelType::causal;
  ConfigOf<Layer> embedding_tpl;
  ConfigOf<Layer> position_emb_tpl;
  ConfigOf<Layer> softmax_tpl = "nn/SharedEmbeddingSoftmax";
  double entropy_loss_weight = 0;
  ShardingConfig sharding;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(LanguageModelConfig, TransformerConfig,
              (model_type, "Positions that a position attends to."),
              (embedding_tpl,
               "Embedding of token ids; none: the table of the softmax, which must have one."),
              (position_emb_tpl,
               "Layer that adds positions to the embedding: nn/TrainablePositionalEmbedding or "
               "nn/PositionalEmbedding. none: rotary positions in the blocks, or no positions."),
              (softmax_tpl,
               "Logits and loss: nn/SharedEmbeddingSoftmax, nn/FullSoftmax or "
               "nn/GShardSharedEmbeddingSoftmax."),
              (entropy_loss_weight,
               "Factor of the mean negative entropy of the predictions in the loss, in nats per "
               "token. Above 0 it flattens the predictions, below 0 it sharpens them. 0: off.",
               adjustable),
              (sharding, "Axes of the mesh over which the weights are split.", adjustable))

class LanguageModel final : public Model, public NextToken, public LabelScores {
 public:
  using Config = LanguageModelConfig;
  LanguageModel(const Config& config, Scope& scope);

  NestedMap fprop(const Batch& batch, FpropContext& context) override;
  const void* extension(std::string_view id) const noexcept override;
  Tensor label_log_probabilities(const Batch& batch, FpropContext& context) override;

  std::int64_t vocabulary_size() const override { return head_->num_classes(); }
  std::int64_t longest_sequence() const override { return decoder_->longest_sequence(); }
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch,
                                         std::int64_t max_length) const override;
  bool sees_whole_prompt() const override { return model_type_ == ModelType::prefix; }
  Tensor next_logits(const Tensor& ids, LayerCache* cache, FpropContext& context) const override;
  Tensor all_logits(const Tensor& ids, LayerCache& cache, FpropContext& context) const override;

 private:
  Tensor hidden_of(const Batch& batch, FpropContext& context) const;
  Tensor hidden(const Tensor& ids, LayerCache* cache, FpropContext& context) const;

  ModelType model_type_;
  float entropy_loss_weight_;
  std::optional<TokenEmbedding> embedding_;
  std::optional<Decoder> decoder_;
  std::shared_ptr<Layer> softmax_;
  SoftmaxHead* head_;
};

}  // namespace trivet::lm
