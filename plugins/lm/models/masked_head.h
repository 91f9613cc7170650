// SPDX-License-Identifier: Apache-2.0
// MaskedHead: predicts tokens from the positions of an encoder (Devlin et al. 2018, 3.1):
//
//   t = mlm_norm(mlm_activation(h mlm_dense + b));   logits = t table^T + bias
//
// where the table is that of the embedding.
#pragma once

#include <cstdint>
#include <memory>

#include "lm/models/encoder.h"
#include "trivet/layer/softmax_head.h"

namespace trivet::lm {

struct MaskedHeadConfig : EncoderConfig {
  ConfigOf<Layer> softmax_tpl = "nn/SharedEmbeddingSoftmax";
  ConfigOf<Layer> mlm_activation = "nn/Gelu";
  ConfigOf<Layer> mlm_norm_tpl = "nn/LayerNorm";
};
TRIVET_CONFIG(MaskedHeadConfig, EncoderConfig,
              (softmax_tpl,
               "Embedding, logits and loss: nn/SharedEmbeddingSoftmax, which gets a bias."),
              (mlm_activation, "Activation of the dense layer before the logits."),
              (mlm_norm_tpl, "Norm after the activation of the dense layer before the logits."))

// The softmax that is the embedding, too. Throws Error without one.
std::shared_ptr<Layer> masked_softmax(const MaskedHeadConfig& config, Scope& scope,
                                      const char* model);

class MaskedHead {
 public:
  // Makes the children "mlm_dense", from `input_dims` to the depth of the embeddings, and
  // "mlm_norm" of `scope`. `softmax` must outlive it.
  MaskedHead(const MaskedHeadConfig& config, std::int64_t input_dims, SoftmaxHead& softmax,
             Scope& scope);

  // h [.., input_dims] -> t, as deep as the embeddings, of which `softmax` makes logits.
  Tensor hidden(const Tensor& h, FpropContext& context) const;
  // The outputs of token_losses.h.
  NestedMap fprop(const Tensor& h, const Batch& batch, FpropContext& context) const;

 private:
  SoftmaxHead& softmax_;
  std::shared_ptr<Layer> mlm_dense_, mlm_norm_;
};

}  // namespace trivet::lm
