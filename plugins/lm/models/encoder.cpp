// SPDX-License-Identifier: Apache-2.0
#include "lm/models/encoder.h"

#include <string>
#include <utility>

#include "trivet/error.h"
#include "trivet/layer/token_fields.h"
#include "trivet/ops.h"

namespace trivet::lm {
namespace {

// Sizes of what is added to the embeddings.
TransformerConfig sum_sizes(const EncoderConfig& config) {
  if (config.embedding_projection != EmbeddingProjection::sum) return config;
  return embedding_sizes(config);
}

ConfigOf<Layer> token_types_of(const EncoderConfig& config) {
  if (config.type_vocab_size == 0) return {};
  return table_of("nn/Embedding", config.type_vocab_size, sum_sizes(config));
}

// Null if the sum of the embeddings is as deep as the transformer.
std::shared_ptr<Layer> projection_of(const EncoderConfig& config, Scope& scope) {
  const std::int64_t dims = embedding_sizes(config).model_dims;
  const EmbeddingProjection projected = config.embedding_projection;
  if (dims == config.model_dims && projected == EmbeddingProjection::sum) return nullptr;
  return scope.layer("embedding_projection",
                     linear_of(projected == EmbeddingProjection::trigrams ? 3 * dims : dims,
                               config.model_dims, "none", config.init));
}

Tensor token_types(const Batch& batch) {
  if (const Tensor* types = batch.find("token_type_ids")) return *types;
  const Tensor& ids = batch.at("ids");
  return Tensor::zeros(ids.device(), ids.shape(), DType::i32);
}

}  // namespace

TransformerConfig embedding_sizes(const EncoderConfig& config) {
  TransformerConfig sizes = config;
  if (config.embedding_dims > 0) sizes.model_dims = config.embedding_dims;
  return sizes;
}

TokenEmbedding own_embedding(const EncoderConfig& config, const ConfigOf<Layer>& embedding_tpl,
                             Scope& scope) {
  check_vocabulary(config);
  auto own =
      scope.layer("embedding", table_of(embedding_tpl, config.vocab_size, embedding_sizes(config)));
  if (!own) throw Error("an encoder needs an embedding_tpl", {.hint = "e.g. \"nn/Embedding\""});
  return TokenEmbedding(std::move(own));
}

Encoder::Encoder(const EncoderConfig& config, Scope& scope, const char* model)
    : model_(model),
      projected_(config.embedding_projection),
      longest_(longest_of(config, positions_of(config.position_emb_tpl, config))),
      token_type_emb_(scope.layer("token_type_emb", token_types_of(config))),
      position_emb_(
          scope.layer("position_emb", positions_of(config.position_emb_tpl, sum_sizes(config)))),
      embedding_norm_(
          scope.layer("embedding_norm", norm_of(config.embedding_norm_tpl, sum_sizes(config)))),
      projection_(projection_of(config, scope)),
      transformer_(scope.layer("transformer", stack_of(config, config.num_layers, {}))),
      final_norm_(scope.layer("final_norm", norm_of(config.final_norm_tpl, config))) {}

Tensor Encoder::with_neighbors(const Tensor& x, const Batch& batch) const {
  const std::int64_t length = x.dim(1);
  Tensor known = x;  // 0 at padding
  if (const Tensor* paddings = batch.find("paddings")) {
    const Tensor counts = ops::add(ops::neg(*paddings), 1.0F);
    known = ops::mul(x, ops::reshape(counts, {x.dim(0), length, 1}));
  }
  Tensor before = ops::slice(known, 1, 0, length - 1), after = ops::slice(known, 1, 1, length);
  if (const Tensor* segments = batch.find("segment_ids")) {
    const Tensor same =
        ops::equal(ops::slice(*segments, 1, 0, length - 1), ops::slice(*segments, 1, 1, length));
    const Tensor zeros = Tensor::zeros(x.device(), same.shape());
    const Tensor counts =
        ops::reshape(ops::where(same, ops::add(zeros, 1.0F), zeros), {x.dim(0), length - 1, 1});
    before = ops::mul(before, counts);
    after = ops::mul(after, counts);
  }
  const Tensor parts[] = {ops::pad(after, 1, 0, 1), x, ops::pad(before, 1, 1, 0)};
  return ops::concat(parts, 2);
}

Tensor Encoder::transformed(const Tensor& x, const Batch& batch, FpropContext& context) const {
  const Tensor *types = batch.find("token_type_ids"), *permutation = batch.find("permutation");
  // The extension is the layer itself, which `extension` sees as const.
  auto* reader = const_cast<TokenFieldsReader*>(
      static_cast<const TokenFieldsReader*>(transformer_->extension(kLayerTokenFields)));
  if (reader == nullptr) {
    if (permutation == nullptr) return transformer_->fprop(x, context);
    throw Error(std::string(model_) +
                    ": the batch has a permutation, whose tokens are not masked, but the blocks "
                    "would see all of them",
                {.hint = "set stacked_transformer_tpl = { type = \"nn/XlnetTransformer\", "
                         "two_stream = true }"});
  }
  TokenFields fields;
  if (types != nullptr) fields.token_types = *types;
  if (permutation != nullptr) fields.permutation = *permutation;
  return reader->fprop(x, fields, context);
}

Tensor Encoder::fprop(const TokenEmbedding& embedding, const Batch& batch,
                      FpropContext& context) const {
  const Tensor& ids = batch.at("ids");
  check_ids(model_, ids, longest_);
  set_sequence_context(context, batch);
  Tensor x = embedding.fprop(ids, context);
  if (projected_ == EmbeddingProjection::trigrams) x = with_neighbors(x, batch);
  const bool first = projected_ != EmbeddingProjection::sum;
  if (first) x = projection_->fprop(x, context);
  if (token_type_emb_) x = ops::add(x, token_type_emb_->fprop(token_types(batch), context));
  Layer* const projection = first ? nullptr : projection_.get();
  for (Layer* layer : {position_emb_.get(), embedding_norm_.get(), projection}) {
    if (layer != nullptr) x = layer->fprop(x, context);
  }
  x = transformed(x, batch, context);
  return final_norm_ ? final_norm_->fprop(x, context) : x;
}

}  // namespace trivet::lm
