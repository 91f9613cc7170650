// SPDX-License-Identifier: Apache-2.0
#include "nn/recurrent/bidirectional.h"

#include <vector>

#include "nn/basic/templates.h"
#include "trivet/error.h"
#include "trivet/ops.h"

namespace trivet::nn {
namespace {

ConfigOf<Layer> reversed(ConfigOf<Layer> layer) {
  if (layer) complete(layer, "reverse", true, false);
  return layer;
}

}  // namespace

Bidirectional::Bidirectional(const Config& config, Scope& scope)
    : forward_(scope.layer("forward", config.sub)),
      backward_(scope.layer("backward", reversed(config.sub))) {
  if (!forward_) throw Error("[nn/Bidirectional] '" + scope.path() + "': sub is \"none\"");
}

Tensor Bidirectional::fprop(const Tensor& x, FpropContext& context) {
  const std::vector<Tensor> both{forward_->fprop(x, context), backward_->fprop(x, context)};
  return ops::concat(both, -1);
}

}  // namespace trivet::nn
