// SPDX-License-Identifier: Apache-2.0
// Encoder: a bidirectional transformer over tokens (Devlin et al. 2018, "BERT"), shared by the
// models that read a whole text.
//
//   x = embedding(ids) + token_type_emb(token_type_ids) + position_emb
//   h [B, T, D] = final_norm(transformer(embedding_norm(x)))
//
// With embedding_dims E the embeddings, their norm and the tied softmax have E features, and a
// product with bias, "embedding_projection", widens them to D before the transformer (Lan et al.
// 2020, "ALBERT", section 3.1; Model Garden's embedding_width). ALBERT's blocks, which share their
// weights, are block_tpl = { type = "nn/TransformerBlock", shared = "block" }.
//
// With embedding_projection other than "sum" the projection comes first, so positions, token types
// and their norm have D features:
//
//   tokens    x_t = e_t embedding_projection + b + token_type_emb + position_emb
//             (Model Garden's query_bert, without the bias, which the positions can hold)
//   trigrams  the same of [e_{t+1}, e_t, e_{t-1}] (Sun et al. 2020, "MobileBERT", section 3.2; the
//             order is Model Garden's), where e is 0 beyond the text: before its start, behind its
//             end, and for padding
//
// MobileBERT's blocks are block_tpl = "nn/BottleneckBlock".
//
// Each part is optional in the config. Reads "ids" i32 [B, T] and, if the batch has them,
// "token_type_ids" i32 [B, T] (default 0), "segment_pos", "segment_ids" and "paddings". A position
// sees all positions of its segment except padding. A stack such as nn/XlnetTransformer also gets
// "token_type_ids" and "permutation" i32 [B, T] (trivet/layer/token_fields.h) if the batch has
// them; with another stack a permutation is an Error.
//
// By default norms come before each part, as in Praxis' encoders. In the paper they follow each
// sum:
//
//   block_tpl = { type = "nn/TransformerBlock", norm_policy = "post_skip" }
//   embedding_norm_tpl = "nn/LayerNorm"
//   final_norm_tpl = "none"
#pragma once

#include <cstdint>
#include <memory>

#include "lm/models/token_embedding.h"
#include "lm/models/transformer_parts.h"

namespace trivet::lm {

// What is projected from the depth of the embeddings to that of the transformer.
enum class EmbeddingProjection {
  sum,       // of all embeddings, normed
  tokens,    // those of the tokens
  trigrams,  // those of three tokens side by side
};
TRIVET_ENUM(EmbeddingProjection, sum, tokens, trigrams)

struct EncoderConfig : TransformerConfig {
  std::int64_t type_vocab_size = 0;
  std::int64_t embedding_dims = 0;
  EmbeddingProjection embedding_projection = EmbeddingProjection::sum;
  ConfigOf<Layer> position_emb_tpl = "nn/TrainablePositionalEmbedding";
  ConfigOf<Layer> embedding_norm_tpl;
};
TRIVET_CONFIG(
    EncoderConfig, TransformerConfig,
    (type_vocab_size,
     "Number of token types in the batch's token_type_ids, such as first and second "
     "sentence. 0: adds no embedding of them.",
     at_least(0)),
    (embedding_dims,
     "Depth of the embeddings, which a linear layer widens to model_dims; 0: model_dims.",
     at_least(0)),
    (embedding_projection,
     "Vectors that are projected to model_dims: the sum of the embeddings, those of the tokens, or "
     "those of three tokens side by side, as in MobileBERT."),
    (position_emb_tpl,
     "Layer that adds positions to the embedding. none: the blocks handle positions."),
    (embedding_norm_tpl, "Norm of the sum of embeddings."))

// Sizes for what is as deep as the embeddings: model_dims is embedding_dims, if that is set.
TransformerConfig embedding_sizes(const EncoderConfig& config);

// The embedding of an encoder whose head is no softmax over tokens: the child "embedding". Throws
// ConfigError if the vocabulary size is not set, Error without a template.
TokenEmbedding own_embedding(const EncoderConfig& config, const ConfigOf<Layer>& embedding_tpl,
                             Scope& scope);

class Encoder {
 public:
  // Makes the children "token_type_emb", "position_emb", "embedding_norm", "embedding_projection",
  // "transformer" and "final_norm" of `scope`. `model` is the name for messages.
  Encoder(const EncoderConfig& config, Scope& scope, const char* model);

  // Returns h [B, T, D] and sets the batch's positions in `context`. Throws Error for invalid ids.
  Tensor fprop(const TokenEmbedding& embedding, const Batch& batch, FpropContext& context) const;

  std::int64_t longest_sequence() const { return longest_; }

 private:
  // The transformer, with the fields of the batch that it reads.
  Tensor transformed(const Tensor& x, const Batch& batch, FpropContext& context) const;
  // Of embeddings [B, T, E]; may be projected.
  Tensor with_neighbors(const Tensor& x, const Batch& batch) const;

  const char* model_;
  EmbeddingProjection projected_;
  std::int64_t longest_;
  std::shared_ptr<Layer> token_type_emb_, position_emb_, embedding_norm_, projection_, transformer_,
      final_norm_;
};

}  // namespace trivet::lm
