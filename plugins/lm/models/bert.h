// SPDX-License-Identifier: Apache-2.0
// Bert: an encoder that predicts masked tokens (Devlin et al. 2018, 3.1; Praxis' BertModel): h =
// encoder (encoder.h), then the head of masked_head.h.
//
// Reads the same batch as the encoder. With "labels" i32 and "weights" f32 [B, T] in the batch it
// returns "avg_xent" and "total_weight" (scalars) and "per_example_xent" f32 [B, T]; outside
// training also "per_example_argmax" i32 [B, T]. Only positions with a weight count in the loss:
// the masked ones. Without labels it returns "logits" [B, T, vocab_size]. With next_sentence it
// also returns what next_sentence_head.h says.
//
// Children: those of the encoder, "embedding" (with "table" and the bias "b" of the logits),
// "mlm_dense" and "mlm_norm", and those of the next-sentence head. Classifiers (bert_classifier.h)
// use the same names, so they can start from its weights.
#pragma once

#include <memory>

#include "lm/models/encoder.h"
#include "lm/models/masked_head.h"
#include "lm/models/next_sentence_head.h"
#include "trivet/layer/softmax_head.h"

namespace trivet::lm {

struct BertConfig : MaskedHeadConfig {
  NextSentenceConfig next_sentence;
};
TRIVET_CONFIG(BertConfig, MaskedHeadConfig,
              (next_sentence, "Head that tells whether the second sentence follows the first."))

class Bert final : public Model {
 public:
  using Config = BertConfig;
  Bert(const Config& config, Scope& scope);

  NestedMap fprop(const Batch& batch, FpropContext& context) override;

 private:
  std::shared_ptr<Layer> softmax_;
  TokenEmbedding embedding_;
  Encoder encoder_;
  MaskedHead head_;
  NextSentenceHead next_sentence_;
};

}  // namespace trivet::lm
