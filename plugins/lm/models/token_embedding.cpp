// SPDX-License-Identifier: Apache-2.0
#include "lm/models/token_embedding.h"

#include <string>
#include <utility>

#include "trivet/error.h"

namespace trivet::lm {

TokenEmbedding::TokenEmbedding(std::shared_ptr<Layer> own, SoftmaxHead& head, const char* model)
    : own_(std::move(own)), head_(&head) {
  if (own_ || head.has_embedding()) return;
  throw Error(std::string(model) + ": the softmax has no table of embeddings",
              {.hint = "use nn/SharedEmbeddingSoftmax, or set a template of an embedding, such as "
                       "\"nn/Embedding\""});
}

}  // namespace trivet::lm
