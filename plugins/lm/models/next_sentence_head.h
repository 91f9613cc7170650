// SPDX-License-Identifier: Apache-2.0
// NextSentenceHead: tells from one position of an encoder, the first unless told otherwise, whether
// the second sentence of a row follows the first (Devlin et al. 2018, section 3.1, task 2; Model
// Garden's cls_heads with num_classes = 2):
//
//   p = activation(h_i pooler + b);   z [B, 2] = dropout(p) next_sentence + b
//   loss = mean over the rows with a "weight" of -ln softmax(z)[next_sentence_label]
//
// The child "pooler" is that of lm/BertClassifier, which can start from its weights unless `dims`
// is another depth.
#pragma once

#include <cstdint>
#include <memory>

#include "lm/models/encoder.h"

namespace trivet::lm {

struct NextSentenceConfig {
  bool enabled = false;
  std::int64_t dims = 0;
  ConfigOf<Layer> activation = "nn/Tanh";
  std::int64_t cls_token_idx = 0;
  double dropout = 0.1;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(NextSentenceConfig, trivet::NoBase,
              (enabled,
               "Adds the head. Its loss needs next_sentence_label in the batch, as "
               "data/MaskedLanguageModel with next_sentence makes it."),
              (dims, "Depth of the dense layer; 0: model_dims.", at_least(0)),
              (activation, "Activation of the dense layer."),
              (cls_token_idx, "Position that the head reads: 0 is the first of a row.",
               at_least(0)),
              (dropout, "Dropout rate between the two layers in training.", at_least(0),
               less_than(1), adjustable))

class NextSentenceHead {
 public:
  // Makes the children "pooler", "next_sentence_dropout" and "next_sentence" of `scope`, if the
  // config enables the head.
  NextSentenceHead(const EncoderConfig& encoder, const NextSentenceConfig& config, Scope& scope);

  // Adds "next_sentence_logits" f32 [B, 2], and for a batch with "labels" the scalar
  // "next_sentence_loss". Throws ConfigError: such a batch has no "next_sentence_label" i32 [B], or
  // its rows do not reach the position of the head.
  void fprop(const Tensor& h, const Batch& batch, FpropContext& context, NestedMap& outputs) const;

 private:
  std::shared_ptr<Layer> dense_, dropout_, classifier_;  // null without the head
  std::int64_t cls_token_idx_ = 0;
};

}  // namespace trivet::lm
