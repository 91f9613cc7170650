// SPDX-License-Identifier: Apache-2.0
#include "lm/models/bert_classifier.h"

#include <utility>

#include "lm/metrics/token_losses.h"
#include "trivet/error.h"

namespace trivet::lm {
namespace {

constexpr const char* kClassifier = "lm/BertClassifier";
constexpr const char* kTagger = "lm/BertTagger";

TokenEmbedding embedding_of(const EncoderHeadConfig& config, Scope& scope) {
  if (config.num_classes == 0) {
    throw ConfigError(Diagnostic{.path = "task.model.num_classes",
                                 .what = "is 0, and the task does not set it",
                                 .hint = "set it to the number of classes"});
  }
  return own_embedding(config, config.embedding_tpl, scope);
}

ConfigOf<Layer> softmax_of(const EncoderHeadConfig& config) {
  return {"nn/FullSoftmax", Value::table({{"input_dims", config.model_dims},
                                          {"num_classes", config.num_classes},
                                          {"init", encode(config.head_init)}})};
}

}  // namespace

BertClassifier::BertClassifier(const Config& config, Scope& scope)
    : embedding_(embedding_of(config, scope)),
      encoder_(config, scope, kClassifier),
      pooler_(config, config.head_init, config.use_pooler, scope),
      dropout_(scope.layer("head_dropout", dropout_of(config.head_dropout))),
      classifier_(scope.layer("classifier", linear_of(config.model_dims, config.num_classes, "none",
                                                      config.head_init))) {}

NestedMap BertClassifier::fprop(const Batch& batch, FpropContext& context) {
  Tensor h = pooler_.fprop(encoder_.fprop(embedding_, batch, context), context);
  if (dropout_) h = dropout_->fprop(h, context);
  return {{"logits", classifier_->fprop(h, context)}};
}

BertTagger::BertTagger(const Config& config, Scope& scope)
    : embedding_(embedding_of(config, scope)),
      encoder_(config, scope, kTagger),
      dropout_(scope.layer("head_dropout", dropout_of(config.head_dropout))),
      classifier_(scope.layer("classifier", softmax_of(config))),
      head_(&softmax_head(*classifier_, "classifier")) {}

NestedMap BertTagger::fprop(const Batch& batch, FpropContext& context) {
  Tensor h = encoder_.fprop(embedding_, batch, context);
  if (dropout_) h = dropout_->fprop(h, context);
  return token_losses(*head_, h, batch, context, "tags");
}

}  // namespace trivet::lm
