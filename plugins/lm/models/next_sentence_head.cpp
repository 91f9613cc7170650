// SPDX-License-Identifier: Apache-2.0
#include "lm/models/next_sentence_head.h"

#include <string>

#include "lm/models/pooler.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/text/strings.h"

namespace trivet::lm {

void NextSentenceConfig::validate(Diagnostics& diagnostics) const {
  if (enabled) return;
  const NextSentenceConfig usual;
  const auto refuse = [&](const char* field, bool is_set) {
    if (is_set) diagnostics.add(field, "has no effect without enabled = true");
  };
  refuse("dims", dims != usual.dims);
  refuse("activation", activation.key() != usual.activation.key());
  refuse("cls_token_idx", cls_token_idx != usual.cls_token_idx);
  refuse("dropout", dropout != usual.dropout);
}

NextSentenceHead::NextSentenceHead(const EncoderConfig& encoder, const NextSentenceConfig& config,
                                   Scope& scope) {
  if (!config.enabled) return;
  cls_token_idx_ = config.cls_token_idx;
  const std::int64_t dims = config.dims > 0 ? config.dims : encoder.model_dims;
  dense_ = scope.layer(
      "pooler",
      linear_of(encoder.model_dims, dims,
                config.activation ? config.activation.to_value() : Value("none"), encoder.init));
  dropout_ = scope.layer("next_sentence_dropout", dropout_of(config.dropout));
  classifier_ = scope.layer("next_sentence", linear_of(dims, 2, "none", encoder.init));
}

void NextSentenceHead::fprop(const Tensor& h, const Batch& batch, FpropContext& context,
                             NestedMap& outputs) const {
  if (!classifier_) return;
  if (cls_token_idx_ >= h.dim(1)) {
    throw ConfigError(Diagnostic{.path = "task.model.next_sentence.cls_token_idx",
                                 .what = "is " + std::to_string(cls_token_idx_) + "; rows have " +
                                         count_of(h.dim(1), "position"),
                                 .hint = "positions are counted from 0"});
  }
  Tensor p = dense_->fprop(position_of(h, cls_token_idx_), context);
  if (dropout_) p = dropout_->fprop(p, context);
  const Tensor logits = classifier_->fprop(p, context);
  outputs.set("next_sentence_logits", logits);
  if (!batch.contains("labels")) return;
  const Tensor* labels = batch.find("next_sentence_label");
  if (labels == nullptr) {
    throw ConfigError(
        Diagnostic{.path = "task.model.next_sentence.enabled",
                   .what = "is true, but the batch has no next_sentence_label",
                   .hint = "set next_sentence = true in the inputs (data/MaskedLanguageModel)"});
  }
  const Tensor* weights = batch.find("weight");
  outputs.set("next_sentence_loss", ops::weighted_mean(ops::softmax_cross_entropy(logits, *labels),
                                                       weights != nullptr ? *weights : Tensor()));
}

}  // namespace trivet::lm
