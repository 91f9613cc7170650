// SPDX-License-Identifier: Apache-2.0
#include "nn/activation/activations.h"

#include "trivet/extensions/activation.h"
#include "trivet/layer/extend_step.h"

namespace trivet::nn {

Tensor PlainActivation::fprop(const Tensor& x, FpropContext&) {
  return ops::activation(x, kind_);
}

const void* PlainActivation::extension(std::string_view id) const noexcept {
  if (id == kLayerLocalInTime) return this;
  return id == kLayerActivation ? &kind_ : nullptr;
}

}  // namespace trivet::nn
