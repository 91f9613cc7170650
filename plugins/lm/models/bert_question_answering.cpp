// SPDX-License-Identifier: Apache-2.0
#include "lm/models/bert_question_answering.h"

#include "trivet/ops.h"

namespace trivet::lm {
BertQuestionAnswering::BertQuestionAnswering(const Config& config, Scope& scope)
    : embedding_(own_embedding(config, config.embedding_tpl, scope)),
      encoder_(config, scope, "lm/BertQuestionAnswering"),
      dropout_(scope.layer("head_dropout", dropout_of(config.head_dropout))),
      span_(scope.layer("span", linear_of(config.model_dims, 2, "none", config.init))) {}

NestedMap BertQuestionAnswering::fprop(const Batch& batch, FpropContext& context) {
  Tensor h = encoder_.fprop(embedding_, batch, context);
  if (dropout_) h = dropout_->fprop(h, context);
  const Tensor logits = span_->fprop(h, context);
  const Shape shape{h.dim(0), h.dim(1)};
  const auto side = [&](std::int64_t at) {
    return ops::reshape(ops::contiguous(ops::slice(logits, 2, at, at + 1)), shape);
  };
  return {{"start_logits", side(0)}, {"end_logits", side(1)}};
}

}  // namespace trivet::lm
