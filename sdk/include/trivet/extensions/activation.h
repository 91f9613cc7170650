// SPDX-License-Identifier: Apache-2.0
// How a layer says that it is nothing but one of the plain activations, so that the layer before it
// can compute it in its own kernel (ops::linear, ops::conv2d) instead of in a pass of its own.
//
// Example (sdk/examples/snippets/layer.cpp#activation):
//
//   const void* extension(std::string_view id) const noexcept override {
//     static constexpr Activation kRelu = Activation::relu;
//     return id == kLayerActivation ? &kRelu : nullptr;
//   }
//
// The answer must not change over the layer's life. Gated activations are not plain: they change
// the shape, and a layer that is one answers null.
#pragma once

#include <optional>
#include <string_view>

#include "trivet/layer.h"
#include "trivet/ops.h"

namespace trivet {

// Id for Layer::extension; what it returns points to an Activation.
inline constexpr std::string_view kLayerActivation = "trivet.layer.activation/1";

// The activation that `layer` is: none for null, nothing for a layer that is something else.
inline std::optional<Activation> plain_activation(const Layer* layer) {
  if (layer == nullptr) return Activation::none;
  const auto* kind = static_cast<const Activation*>(layer->extension(kLayerActivation));
  if (kind == nullptr) return std::nullopt;
  return *kind;
}

}  // namespace trivet
