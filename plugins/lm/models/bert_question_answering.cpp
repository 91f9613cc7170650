// SPDX-License-Identifier: Apache-2.0
#include "lm/models/bert_question_answering.h"

#include "trivet/ops.h"

namespace trivet::lm {
namespace {

ConfigOf<Layer> span_of(const BertQuestionAnsweringConfig& config) {
  return {"nn/Linear", Value::table({{"input_dims", config.model_dims},
                                     {"output_dims", 2},
                                     {"activation", "none"},
                                     {"init", encode(config.init)}})};
}

ConfigOf<Layer> span_dropout_of(const BertQuestionAnsweringConfig& config) {
  if (config.head_dropout == 0) return {};
  return {"nn/Dropout", Value::table({{"rate", config.head_dropout}})};
}

}  // namespace

BertQuestionAnswering::BertQuestionAnswering(const Config& config, Scope& scope)
    : embedding_(own_embedding(config, config.embedding_tpl, scope)),
      encoder_(config, scope, "lm/BertQuestionAnswering"),
      dropout_(scope.layer("head_dropout", span_dropout_of(config))),
      span_(scope.layer("span", span_of(config))) {}

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
