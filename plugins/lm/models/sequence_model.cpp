// SPDX-License-Identifier: Apache-2.0
#include "lm/models/sequence_model.h"

#include <utility>

#include "lm/metrics/token_losses.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::lm {
namespace {

constexpr const char* kSequenceModel = "lm/SequenceModel";

EncoderConfig encoder_of(const SequenceModelConfig& config) {
  EncoderConfig encoder;
  static_cast<TransformerConfig&>(encoder) = config;
  encoder.position_emb_tpl = config.position_emb_tpl;
  if (config.num_encoder_layers > 0) encoder.num_layers = config.num_encoder_layers;
  if (config.max_source_len > 0) encoder.max_seq_len = config.max_source_len;
  return encoder;
}

}  // namespace

// The encoder's output for one source, with the decoder that attends to it.
class SequenceModel::Targets final : public NextToken {
 public:
  Targets(const SequenceModel& model, Tensor source) : model_(model), source_(std::move(source)) {}

  std::int64_t vocabulary_size() const override { return model_.head_->num_classes(); }
  std::int64_t longest_sequence() const override { return model_.decoder_->longest_sequence(); }
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch,
                                         std::int64_t max_length) const override {
    return model_.decoder_->make_cache(batch, max_length);
  }
  bool sees_whole_prompt() const override { return false; }
  Tensor next_logits(const Tensor& ids, LayerCache* cache, FpropContext& context) const override {
    const NoGrad no_grad;
    context.cross_inputs = ops::expand(source_, {ids.dim(0), source_.dim(1), source_.dim(2)});
    return model_.head_->logits(last_position(model_.hidden(ids, cache, context)), context);
  }

 private:
  const SequenceModel& model_;
  Tensor source_;  // [1, S, D]
};

void SequenceModelConfig::validate(Diagnostics& diagnostics) const {
  TransformerConfig::validate(diagnostics);
  const bool apart = source_vocab_size > 0 && source_vocab_size != vocab_size;
  if (apart && !encoder_embedding_tpl) {
    diagnostics.add("encoder_embedding_tpl",
                    "is not set, and the table of the softmax has vocab_size rows, not "
                    "source_vocab_size",
                    "set it to \"nn/Embedding\"");
  }
}

SequenceModel::SequenceModel(const Config& config, Scope& scope) {
  check_vocabulary(config);
  const std::int64_t sources =
      config.source_vocab_size > 0 ? config.source_vocab_size : config.vocab_size;
  auto encoder_embedding =
      scope.layer("encoder_embedding", table_of(config.encoder_embedding_tpl, sources, config));
  auto decoder_embedding = scope.layer(
      "decoder_embedding", table_of(config.decoder_embedding_tpl, config.vocab_size, config));
  Scope encoder = scope.child("encoder"), decoder = scope.child("decoder");
  encoder_.emplace(encoder_of(config), encoder, kSequenceModel);
  decoder_.emplace(config, config.position_emb_tpl,
                   BlockSight{.causal = true, .cross_attention = true}, decoder);
  softmax_ = scope.layer("softmax", table_of(config.softmax_tpl, config.vocab_size, config));
  if (!softmax_) throw Error("lm/SequenceModel: a softmax is required");
  head_ = &softmax_head(*softmax_, "softmax");
  encoder_embedding_.emplace(std::move(encoder_embedding), *head_, kSequenceModel);
  decoder_embedding_.emplace(std::move(decoder_embedding), *head_, kSequenceModel);
}

const void* SequenceModel::extension(std::string_view id) const noexcept {
  if (id == kModelTargetDecoding) return static_cast<const TargetDecoding*>(this);
  return Model::extension(id);
}

Tensor SequenceModel::hidden(const Tensor& ids, LayerCache* cache, FpropContext& context) const {
  check_ids(kSequenceModel, ids, decoder_->longest_sequence());
  return decoder_->fprop(decoder_embedding_->fprop(ids, context), cache, context);
}

NestedMap SequenceModel::fprop(const Batch& batch, FpropContext& context) {
  context.cross_inputs = encoder_->fprop(*encoder_embedding_, batch.child("src"), context);
  context.cross_paddings = context.paddings;
  context.cross_segment_ids = context.segment_ids;
  const Batch target = batch.child("tgt");
  set_sequence_context(context, target);
  return token_losses(*head_, hidden(target.at("ids"), nullptr, context), target, context);
}

std::shared_ptr<const NextToken> SequenceModel::with_source(const Tensor& ids) const {
  const NoGrad no_grad;
  FpropContext context;
  return std::make_shared<Targets>(*this,
                                   encoder_->fprop(*encoder_embedding_, {{"ids", ids}}, context));
}

}  // namespace trivet::lm
