// SPDX-License-Identifier: Apache-2.0
// Classifiers on an encoder (Devlin et al. 2018, section 4; Model Garden's BertClassifier and
// BertTokenClassifier). Their encoders name weights as lm/Bert does, so a run can start from a
// checkpoint of lm/Bert (task.init_checkpoint with init_load.partial).
//
// BertClassifier makes one prediction per row, from its first position ([CLS]):
//
//   p = tanh(h_0 pooler + b), or h_0 without use_pooler;   logits [B, num_classes] =
//   dropout(p) classifier + b
//
// BertTagger makes one prediction per position:
//
//   logits [B, T, num_classes] = dropout(h) classifier + b
//
// and, with "tags" i32 and "weights" f32 [B, T] in the batch, the outputs of token_losses.h.
//
// Children: those of the encoder, "embedding", "pooler", "head_dropout" and "classifier".
#pragma once

#include <cstdint>
#include <memory>

#include "lm/models/encoder.h"
#include "lm/models/pooler.h"
#include "trivet/layer/softmax_head.h"

namespace trivet::lm {

struct EncoderHeadConfig : EncoderConfig {
  std::int64_t num_classes = 0;
  ConfigOf<Layer> embedding_tpl = "nn/Embedding";
  double head_dropout = 0.1;
  InitConfig head_init;
};
TRIVET_CONFIG(EncoderHeadConfig, EncoderConfig,
              (num_classes, "Number of classes; 0: as the task says.", at_least(0)),
              (embedding_tpl, "Embedding of token ids."),
              (head_dropout, "Dropout rate of the head's input in training.", at_least(0),
               less_than(1), adjustable),
              (head_init, "Initializer of the head's weights. Default: that of nn/Linear."))

struct BertClassifierConfig : EncoderHeadConfig {
  bool use_pooler = true;
};
TRIVET_CONFIG(BertClassifierConfig, EncoderHeadConfig,
              (use_pooler, "Adds a dense layer with tanh between the encoder and the head."))

struct BertTaggerConfig : EncoderHeadConfig {};
TRIVET_CONFIG(BertTaggerConfig, EncoderHeadConfig)

class BertClassifier final : public Model {
 public:
  using Config = BertClassifierConfig;
  BertClassifier(const Config& config, Scope& scope);
  NestedMap fprop(const Batch& batch, FpropContext& context) override;

 private:
  TokenEmbedding embedding_;
  Encoder encoder_;
  Pooler pooler_;
  std::shared_ptr<Layer> dropout_, classifier_;
};

class BertTagger final : public Model {
 public:
  using Config = BertTaggerConfig;
  BertTagger(const Config& config, Scope& scope);
  NestedMap fprop(const Batch& batch, FpropContext& context) override;

 private:
  TokenEmbedding embedding_;
  Encoder encoder_;
  std::shared_ptr<Layer> dropout_, classifier_;
  SoftmaxHead* head_;
};

}  // namespace trivet::lm
