// SPDX-License-Identifier: Apache-2.0
#include "lm/models/next_sentence_head.h"

#include "lm/models/pooler.h"
#include "trivet/error.h"
#include "trivet/ops.h"

namespace trivet::lm {

void NextSentenceConfig::validate(Diagnostics& diagnostics) const {
  if (!enabled && dims > 0) diagnostics.add("dims", "has no effect without enabled = true");
}

NextSentenceHead::NextSentenceHead(const EncoderConfig& encoder, const NextSentenceConfig& config,
                                   Scope& scope) {
  if (!config.enabled) return;
  const std::int64_t dims = config.dims > 0 ? config.dims : encoder.model_dims;
  dense_ = scope.layer("pooler", linear_of(encoder.model_dims, dims, "nn/Tanh", encoder.init));
  dropout_ = scope.layer("next_sentence_dropout", dropout_of(config.dropout));
  classifier_ = scope.layer("next_sentence", linear_of(dims, 2, "none", encoder.init));
}

void NextSentenceHead::fprop(const Tensor& h, const Batch& batch, FpropContext& context,
                             NestedMap& outputs) const {
  if (!classifier_) return;
  Tensor p = dense_->fprop(first_position(h), context);
  if (dropout_) p = dropout_->fprop(p, context);
  const Tensor logits = classifier_->fprop(p, context);
  outputs.set("next_sentence_logits", logits);
  if (!batch.contains("labels")) return;
  const Tensor* labels = batch.find("next_sentence_label");
  if (labels == nullptr) {
    throw Error("lm/Bert: next_sentence is enabled, but the batch has no next_sentence_label",
                {.hint = "set next_sentence = true in the inputs (data/MaskedLanguageModel)"});
  }
  const Tensor* weights = batch.find("weight");
  outputs.set("next_sentence_loss", ops::weighted_mean(ops::softmax_cross_entropy(logits, *labels),
                                                       weights != nullptr ? *weights : Tensor()));
}

}  // namespace trivet::lm
