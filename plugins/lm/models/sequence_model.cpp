// SPDX-License-Identifier: Apache-2.0
#include "lm/models/sequence_model.h"

#include <algorithm>
#include <utility>
#include <vector>

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

// The encoder's output for sources, with the decoder that attends to it.
class SequenceModel::Targets final : public NextToken {
 public:
  // `paddings` [B, S] is undefined if sources [B, S, D] have none.
  Targets(const SequenceModel& model, Tensor sources, Tensor paddings)
      : model_(model), sources_(std::move(sources)), paddings_(std::move(paddings)) {}

  std::int64_t vocabulary_size() const override { return model_.head_->num_classes(); }
  std::int64_t longest_sequence() const override { return model_.decoder_->longest_sequence(); }
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch,
                                         std::int64_t max_length) const override {
    return model_.decoder_->make_cache(batch, max_length);
  }
  bool sees_whole_prompt() const override { return false; }
  Tensor next_logits(const Tensor& ids, LayerCache* cache, FpropContext& context) const override {
    const NoGrad no_grad;
    set_sources(ids.dim(0), cache, context);
    return model_.head_->logits(last_position(model_.hidden(ids, cache, context)), context);
  }
  Tensor all_logits(const Tensor& ids, LayerCache& cache, FpropContext& context) const override {
    const NoGrad no_grad;
    set_sources(ids.dim(0), &cache, context);
    return model_.head_->logits(model_.hidden(ids, &cache, context), context);
  }

 private:
  // A cache reads them with its first chunk, and then has those of its rows, which may get fewer.
  void set_sources(std::int64_t rows, const LayerCache* cache, FpropContext& context) const {
    if (sources_.dim(0) == 1) {
      context.cross_inputs = ops::expand(sources_, {rows, sources_.dim(1), sources_.dim(2)});
    } else if (cache == nullptr) {
      throw Error("lm/SequenceModel: without a cache the decoder takes one source at a time");
    } else if (rows == sources_.dim(0)) {
      context.cross_inputs = sources_;
      context.cross_paddings = paddings_;
    }
  }

  const SequenceModel& model_;
  Tensor sources_, paddings_;
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

// Encodes each source separately: an encoder may mix the rows of a batch, as MoE layers with a
// capacity do, and a target must not depend on other sources.
std::shared_ptr<const NextToken> SequenceModel::with_sources(std::span<const Tensor> ids) const {
  const NoGrad no_grad;
  if (ids.empty()) throw Error("lm/SequenceModel: targets need a source");
  std::vector<Tensor> encoded;
  std::int64_t longest = 0;
  for (const Tensor& source : ids) {
    FpropContext context;
    encoded.push_back(encoder_->fprop(*encoder_embedding_, {{"ids", source}}, context));
    longest = std::max(longest, encoded.back().dim(1));
  }
  if (encoded.size() == 1) return std::make_shared<Targets>(*this, encoded[0], Tensor());
  std::vector<float> paddings;
  for (Tensor& source : encoded) {
    const std::int64_t length = source.dim(1);
    for (std::int64_t i = 0; i < longest; ++i) paddings.push_back(i < length ? 0.0F : 1.0F);
    if (length == longest) continue;
    const Tensor rest =
        Tensor::zeros(source.device(), {1, longest - length, source.dim(2)}, source.dtype());
    source = ops::concat(std::vector<Tensor>{source, rest}, 1);
  }
  Device& device = encoded[0].device();
  return std::make_shared<Targets>(
      *this, ops::concat(encoded, 0),
      Tensor::from<float>(device, paddings, {std::ssize(encoded), longest}));
}

}  // namespace trivet::lm
