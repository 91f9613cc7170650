// SPDX-License-Identifier: Apache-2.0
// Bert: an encoder that predicts masked tokens (Devlin et al. 2018, 3.1; Praxis' BertModel).
//
//   h = encoder (encoder.h);   t = mlm_norm(mlm_activation(h mlm_dense + b))
//   logits = t table^T + bias,   table = that of the embedding
//
// Reads the same batch as the encoder. With "labels" i32 and "weights" f32 [B, T] in the batch it
// returns "avg_xent" and "total_weight" (scalars) and "per_example_xent" f32 [B, T]; outside
// training also "per_example_argmax" i32 [B, T]. Only positions with a weight count in the loss:
// the masked ones. Without labels it returns "logits" [B, T, vocab_size].
//
// Children: those of the encoder, "embedding" (with "table" and the bias "b" of the logits),
// "mlm_dense" and "mlm_norm". Classifiers (bert_classifier.h) use the same names, so they can start
// from its weights.
#pragma once

#include <memory>
#include <optional>

#include "lm/models/encoder.h"
#include "trivet/layer/softmax_head.h"

namespace trivet::lm {

struct BertConfig : EncoderConfig {
  ConfigOf<Layer> softmax_tpl = "nn/SharedEmbeddingSoftmax";
  ConfigOf<Layer> mlm_activation = "nn/Gelu";
  ConfigOf<Layer> mlm_norm_tpl = "nn/LayerNorm";
};
TRIVET_CONFIG(BertConfig, EncoderConfig,
              (softmax_tpl,
               "Embedding, logits and loss: nn/SharedEmbeddingSoftmax, which gets a bias."),
              (mlm_activation, "Activation of the dense layer before the logits."),
              (mlm_norm_tpl, "Norm after the activation of the dense layer before the logits."))

class Bert final : public Model {
 public:
  using Config = BertConfig;
  Bert(const Config& config, Scope& scope);

  NestedMap fprop(const Batch& batch, FpropContext& context) override;

 private:
  std::shared_ptr<Layer> softmax_;
  SoftmaxHead* head_;
  std::optional<TokenEmbedding> embedding_;
  std::optional<Encoder> encoder_;
  std::shared_ptr<Layer> mlm_dense_, mlm_norm_;
};

}  // namespace trivet::lm
