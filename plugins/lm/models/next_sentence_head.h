// SPDX-License-Identifier: Apache-2.0
// NextSentenceHead: tells from the first position of an encoder whether the second sentence of a
// row follows the first (Devlin et al. 2018, section 3.1, task 2; Model Garden's cls_heads with
// num_classes = 2):
//
//   p = tanh(h_0 pooler + b);   z [B, 2] = dropout(p) next_sentence + b
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
  double dropout = 0.1;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(NextSentenceConfig, trivet::NoBase,
              (enabled,
               "Adds the head. Its loss needs next_sentence_label in the batch, as "
               "data/MaskedLanguageModel with next_sentence makes it."),
              (dims, "Depth of the dense layer with tanh; 0: model_dims.", at_least(0)),
              (dropout, "Dropout rate between the two layers in training.", at_least(0),
               less_than(1), adjustable))

class NextSentenceHead {
 public:
  // Makes the children "pooler", "next_sentence_dropout" and "next_sentence" of `scope`, if the
  // config enables the head.
  NextSentenceHead(const EncoderConfig& encoder, const NextSentenceConfig& config, Scope& scope);

  // Adds "next_sentence_logits" f32 [B, 2], and for a batch with "labels" the scalar
  // "next_sentence_loss". Throws Error if such a batch has no "next_sentence_label" i32 [B].
  void fprop(const Tensor& h, const Batch& batch, FpropContext& context, NestedMap& outputs) const;

 private:
  std::shared_ptr<Layer> dense_, dropout_, classifier_;  // null without the head
};

}  // namespace trivet::lm
