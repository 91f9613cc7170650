// SPDX-License-Identifier: Apache-2.0
#include "trivet/layer/softmax_head.h"

#include <string>

#include "trivet/error.h"

namespace trivet {

SoftmaxHead& softmax_head(Layer& layer, std::string_view name) {
  // The extension is the layer itself, which `extension` sees as const.
  auto* head =
      const_cast<SoftmaxHead*>(static_cast<const SoftmaxHead*>(layer.extension(kLayerSoftmaxHead)));
  if (head != nullptr) return *head;
  throw Error("'" + std::string(name) + "' is no softmax head (trivet/layer/softmax_head.h)",
              {.hint = "e.g. nn/FullSoftmax or nn/SharedEmbeddingSoftmax"});
}

}  // namespace trivet
