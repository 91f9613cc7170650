// SPDX-License-Identifier: Apache-2.0
// BertQuestionAnswering: an encoder that finds where an answer starts and ends (Devlin et al. 2018,
// section 4.2):
//
//   [start, end] = dropout(h) span + b;   "start_logits", "end_logits" f32 [B, T]
//
// Children: those of the encoder, "embedding", "head_dropout" and "span", so that it can start from
// the weights of lm/Bert.
#pragma once

#include <memory>

#include "lm/models/encoder.h"

namespace trivet::lm {

struct BertQuestionAnsweringConfig : EncoderConfig {
  ConfigOf<Layer> embedding_tpl = "nn/Embedding";
  double head_dropout = 0;
};
TRIVET_CONFIG(BertQuestionAnsweringConfig, EncoderConfig,
              (embedding_tpl, "Embedding of token ids."),
              (head_dropout, "Dropout rate of the head's input in training.", at_least(0),
               less_than(1), adjustable))

class BertQuestionAnswering final : public Model {
 public:
  using Config = BertQuestionAnsweringConfig;
  BertQuestionAnswering(const Config& config, Scope& scope);
  NestedMap fprop(const Batch& batch, FpropContext& context) override;

 private:
  TokenEmbedding embedding_;
  Encoder encoder_;
  std::shared_ptr<Layer> dropout_, span_;
};

}  // namespace trivet::lm
