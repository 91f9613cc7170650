// SPDX-License-Identifier: Apache-2.0
// Electra: an encoder, the discriminator, learns to tell the tokens of a text from those that a
// small model of masked tokens, the generator, put in their place (Clark et al. 2020, "ELECTRA";
// Model Garden's electra_pretrainer):
//
//   generator      as lm/Bert, of its own sizes, over the discriminator's table of embeddings
//   x              the labels, where the weights are not 0 a token drawn from the generator's softmax
//   z [B, T]       gelu(encoder(x) discriminator_dense + b) discriminator_logit + b
//   loss           mean over positions without padding of softplus(z) - z [x is not the label]
//
// No gradient flows through the draw. The draw depends on the step's key and the position alone.
//
// Reads the batch of lm/Bert. With labels it returns the outputs of lm/Bert for the generator, and
// "discriminator_loss" (scalar), "discriminator_logits" f32 [B, T], "replaced" f32 [B, T], "x" i32
// [B, T]; without labels the generator's "logits".
//
// Children: those of lm/Bert's encoder, of the discriminator, so that classifiers can start from
// its weights; "discriminator_dense", "discriminator_logit"; below "generator": another encoder,
// "embedding_projection" if the depths differ, "mlm_dense" and "mlm_norm".
#pragma once

#include <cstdint>
#include <memory>

#include "lm/models/encoder.h"
#include "lm/models/masked_head.h"
#include "trivet/layer/softmax_head.h"

namespace trivet::lm {

struct ElectraConfig : MaskedHeadConfig {
  std::int64_t generator_dims = 0;
  std::int64_t generator_hidden_dims = 0;
  std::int64_t generator_layers = 0;
  std::int64_t generator_heads = 0;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(ElectraConfig, MaskedHeadConfig,
              (generator_dims, "Depth between the generator's layers; 0: model_dims.", at_least(0)),
              (generator_hidden_dims,
               "Depth within the feed-forward layers of the generator; 0: 4 * generator_dims.",
               at_least(0)),
              (generator_layers, "Blocks of the generator; 0: num_layers.", at_least(0)),
              (generator_heads, "Attention heads of the generator; 0: num_heads.", at_least(0)))

class Electra final : public Model {
 public:
  using Config = ElectraConfig;
  Electra(const Config& config, Scope& scope);

  NestedMap fprop(const Batch& batch, FpropContext& context) override;

 private:
  Electra(const Config& config, Scope& scope, Scope generator);
  // The labels with draws from the generator at the positions with a weight. h [B, T, Dg].
  Tensor with_draws(const Tensor& h, const Batch& batch, FpropContext& context) const;
  void discriminate(const Tensor& x, const Batch& batch, FpropContext& context,
                    NestedMap& outputs) const;

  std::shared_ptr<Layer> softmax_;
  SoftmaxHead& table_;
  TokenEmbedding embedding_, generator_embedding_;
  Encoder encoder_, generator_;
  MaskedHead generator_head_;
  std::shared_ptr<Layer> dense_, logit_;
};

}  // namespace trivet::lm
