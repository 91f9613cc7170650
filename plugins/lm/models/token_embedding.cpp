// SPDX-License-Identifier: Apache-2.0
#include "lm/models/token_embedding.h"

#include <string>
#include <utility>

#include "trivet/error.h"

namespace trivet::lm {

TokenEmbedding::TokenEmbedding(std::shared_ptr<Layer> own, SoftmaxHead& head, const char* model,
                               std::shared_ptr<Layer> projection)
    : own_(std::move(own)), projection_(std::move(projection)), head_(&head) {
  if (own_ || head.has_embedding()) return;
  throw Error(std::string(model) + ": the softmax has no table of embeddings",
              {.hint = "use nn/SharedEmbeddingSoftmax, or set a template of an embedding, such as "
                       "\"nn/Embedding\""});
}

Tensor TokenEmbedding::fprop(const Tensor& ids, FpropContext& context) const {
  Tensor x = own_ ? own_->fprop(ids, context) : head_->emb_lookup(ids, context);
  return projection_ ? projection_->fprop(x, context) : x;
}

}  // namespace trivet::lm
