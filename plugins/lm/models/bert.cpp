// SPDX-License-Identifier: Apache-2.0
#include "lm/models/bert.h"

#include <utility>

#include "lm/metrics/token_losses.h"
#include "trivet/error.h"
#include "trivet/layer/layer_template.h"

namespace trivet::lm {
namespace {

constexpr const char* kBert = "lm/Bert";

ConfigOf<Layer> softmax_of(const BertConfig& config) {
  ConfigOf<Layer> layer = table_of(config.softmax_tpl, config.vocab_size, config);
  if (layer) complete(layer, "has_bias", true, false);
  return layer;
}

ConfigOf<Layer> dense_of(const BertConfig& config) {
  Value fields = Value::table({{"input_dims", config.model_dims},
                               {"output_dims", config.model_dims},
                               {"init", encode(config.init)}});
  if (config.mlm_activation) fields.set("activation", config.mlm_activation.to_value());
  return {"nn/Linear", std::move(fields)};
}

}  // namespace

Bert::Bert(const Config& config, Scope& scope) {
  check_vocabulary(config);
  softmax_ = scope.layer("embedding", softmax_of(config));
  if (!softmax_) throw Error("lm/Bert: a softmax is required");
  head_ = &softmax_head(*softmax_, "softmax");
  embedding_.emplace(nullptr, *head_, kBert);
  encoder_.emplace(config, scope, kBert);
  mlm_dense_ = scope.layer("mlm_dense", dense_of(config));
  mlm_norm_ = scope.layer("mlm_norm", norm_of(config.mlm_norm_tpl, config));
}

NestedMap Bert::fprop(const Batch& batch, FpropContext& context) {
  Tensor h = mlm_dense_->fprop(encoder_->fprop(*embedding_, batch, context), context);
  if (mlm_norm_) h = mlm_norm_->fprop(h, context);
  return token_losses(*head_, h, batch, context);
}

}  // namespace trivet::lm
