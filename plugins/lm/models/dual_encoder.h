// SPDX-License-Identifier: Apache-2.0
// DualEncoder: one encoder embeds the two texts of a pair, so that a scalar product compares them
// (Gillick et al. 2018; Model Garden's dual_encoder):
//
//   p = pooler(encoder(text));   embedding [B, D] = p / max(|p|, 1e-6), or p without `normalize`
//
// Reads the encoder's batch (encoder.h) below "left/" and "right/" and returns "left" and "right";
// a batch without them is a left side. Children: those of the encoder, "embedding" and "pooler", so
// that it can start from the weights of lm/Bert.
#pragma once

#include "lm/models/encoder.h"
#include "lm/models/pooler.h"

namespace trivet::lm {

struct DualEncoderConfig : EncoderConfig {
  ConfigOf<Layer> embedding_tpl = "nn/Embedding";
  bool use_pooler = true;
  bool normalize = true;
};
TRIVET_CONFIG(DualEncoderConfig, EncoderConfig, (embedding_tpl, "Embedding of token ids."),
              (use_pooler, "Adds a dense layer with tanh after the encoder."),
              (normalize, "Divides embeddings by their lengths: products are cosines."))

class DualEncoder final : public Model {
 public:
  using Config = DualEncoderConfig;
  DualEncoder(const Config& config, Scope& scope);
  NestedMap fprop(const Batch& batch, FpropContext& context) override;

 private:
  Tensor embed(const Batch& batch, FpropContext& context) const;

  TokenEmbedding embedding_;
  Encoder encoder_;
  Pooler pooler_;
  bool normalize_;
};

}  // namespace trivet::lm
