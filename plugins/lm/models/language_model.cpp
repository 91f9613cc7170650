// SPDX-License-Identifier: Apache-2.0
#include "lm/models/language_model.h"

#include <cmath>
#include <utility>

#include "lm/metrics/logit_rows.h"
#include "lm/metrics/token_entropy.h"
#include "lm/metrics/token_losses.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/tensor/mesh.h"

namespace trivet::lm {
namespace {

constexpr const char* kLanguageModel = "lm/LanguageModel";
constexpr const char* kEntropyLoss = "avg_entropy_loss";

void check_vocabulary_split(const LanguageModelConfig& config) {
  if (config.sharding.w_vd == ShardingConfig().w_vd || splits_vocabulary(config.softmax_tpl) ||
      splits_vocabulary(config.embedding_tpl)) {
    return;
  }
  throw ConfigError(Diagnostic{.path = "task.model.sharding.w_vd",
                               .what = "is not used: the softmax, " +
                                       std::string(config.softmax_tpl.key()) +
                                       ", splits no vocabulary",
                               .hint = "remove it"});
}

}  // namespace

void LanguageModelConfig::validate(Diagnostics& diagnostics) const {
  TransformerConfig::validate(diagnostics);
  if (!std::isfinite(entropy_loss_weight)) {
    diagnostics.add("entropy_loss_weight", "must be finite");
  }
}

LanguageModel::LanguageModel(const Config& config, Scope& scope)
    : model_type_(config.model_type),
      entropy_loss_weight_(static_cast<float>(config.entropy_loss_weight)) {
  check_vocabulary(config);
  check_sharding(config.sharding, config, scope.mesh());
  const bool is_split = scope.mesh().axis("mdl").is_split();
  if (is_split) check_vocabulary_split(config);
  // Without devices along mdl, experts alone may be split, over the batch.
  const ShardingConfig experts_alone{
      .w_df = {}, .w_fd = {}, .w_dnh = {}, .w_vd = {}, .w_emh = config.sharding.w_emh};
  const auto table = [&](const ConfigOf<Layer>& tpl) {
    ConfigOf<Layer> layer = table_of(tpl, config.vocab_size, config);
    return is_split ? with_vocabulary_split(std::move(layer), config.sharding) : layer;
  };
  auto embedding = scope.layer("embedding", table(config.embedding_tpl));
  decoder_.emplace(config, config.position_emb_tpl,
                   BlockSight{.causal = model_type_ != ModelType::bidirectional}, scope,
                   &(is_split ? config.sharding : experts_alone));
  softmax_ = scope.layer("softmax", table(config.softmax_tpl));
  if (!softmax_) throw Error("lm/LanguageModel: a softmax is required");
  head_ = &softmax_head(*softmax_, "softmax");
  embedding_.emplace(std::move(embedding), *head_, kLanguageModel);
}

const void* LanguageModel::extension(std::string_view id) const noexcept {
  if (id == kModelNextToken && model_type_ != ModelType::bidirectional) {
    return static_cast<const NextToken*>(this);
  }
  if (id == kModelLabelScores) return static_cast<const LabelScores*>(this);
  return Model::extension(id);
}

Tensor LanguageModel::hidden(const Tensor& ids, LayerCache* cache, FpropContext& context) const {
  check_ids(kLanguageModel, ids, decoder_->longest_sequence());
  return decoder_->fprop(embedding_->fprop(ids, context), cache, context);
}

Tensor LanguageModel::hidden_of(const Batch& batch, FpropContext& context) const {
  set_sequence_context(context, batch);
  if (model_type_ == ModelType::prefix) {
    context.inputs_indicator = ops::cast(batch.at("inputs_indicator"), DType::f32);
  }
  return hidden(batch.at("ids"), nullptr, context);
}

Tensor LanguageModel::label_log_probabilities(const Batch& batch, FpropContext& context) {
  return lm::label_log_probabilities(*head_, hidden_of(batch, context), batch.at("labels"));
}

NestedMap LanguageModel::fprop(const Batch& batch, FpropContext& context) {
  const Tensor h = hidden_of(batch, context);
  NestedMap outputs = token_losses(*head_, h, batch, context);
  if (entropy_loss_weight_ != 0 && batch.contains("labels")) {
    const Tensor entropy = negative_entropy(*head_, h, batch.at("weights"));
    context.aux_losses.set(kEntropyLoss, ops::mul(entropy, entropy_loss_weight_));
    outputs.set(kEntropyLoss, entropy);
  }
  return outputs;
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

Tensor LanguageModel::all_logits(const Tensor& ids, LayerCache& cache,
                                 FpropContext& context) const {
  const NoGrad no_grad;
  return head_->logits(hidden(ids, &cache, context), context);
}

}  // namespace trivet::lm
