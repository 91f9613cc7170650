// SPDX-License-Identifier: Apache-2.0
#include "lm/models/language_model.h"

#include <utility>

#include "lm/metrics/token_losses.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::lm {
namespace {

constexpr const char* kLanguageModel = "lm/LanguageModel";

}  // namespace

LanguageModel::LanguageModel(const Config& config, Scope& scope) : model_type_(config.model_type) {
  check_vocabulary(config);
  auto embedding =
      scope.layer("embedding", table_of(config.embedding_tpl, config.vocab_size, config));
  decoder_.emplace(config, config.position_emb_tpl,
                   BlockSight{.causal = model_type_ != ModelType::bidirectional}, scope);
  softmax_ = scope.layer("softmax", table_of(config.softmax_tpl, config.vocab_size, config));
  if (!softmax_) throw Error("lm/LanguageModel: a softmax is required");
  head_ = &softmax_head(*softmax_, "softmax");
  embedding_.emplace(std::move(embedding), *head_, kLanguageModel);
}

const void* LanguageModel::extension(std::string_view id) const noexcept {
  if (id == kModelNextToken && model_type_ != ModelType::bidirectional) {
    return static_cast<const NextToken*>(this);
  }
  return Model::extension(id);
}

Tensor LanguageModel::hidden(const Tensor& ids, LayerCache* cache, FpropContext& context) const {
  check_ids(kLanguageModel, ids, decoder_->longest_sequence());
  return decoder_->fprop(embedding_->fprop(ids, context), cache, context);
}

NestedMap LanguageModel::fprop(const Batch& batch, FpropContext& context) {
  set_sequence_context(context, batch);
  if (model_type_ == ModelType::prefix) {
    context.inputs_indicator = ops::cast(batch.at("inputs_indicator"), DType::f32);
  }
  return token_losses(*head_, hidden(batch.at("ids"), nullptr, context), batch, context);
}

std::unique_ptr<LayerCache> LanguageModel::make_cache(std::int64_t batch,
                                                      std::int64_t max_length) const {
  return decoder_->make_cache(batch, max_length);
}

Tensor LanguageModel::next_logits(const Tensor& ids, LayerCache* cache,
                                  FpropContext& context) const {
  const NoGrad no_grad;
  return head_->logits(last_position(hidden(ids, cache, context)), context);
}

}  // namespace trivet::lm
