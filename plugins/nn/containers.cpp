// SPDX-License-Identifier: Apache-2.0
#include "containers.h"

#include "checks.h"
#include "trivet/error.h"
#include "trivet/ops.h"

namespace trivet::nn {
namespace {

Tensor in_turn(const std::vector<std::shared_ptr<Layer>>& layers, const Tensor& x,
               FpropContext& context) {
  Tensor y = x;
  for (const auto& layer : layers) y = layer->fprop(y, context);
  return y;
}

}  // namespace

Sequential::Sequential(const Config& config, Scope& scope) {
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    auto layer = scope.layer("layer_" + std::to_string(i), config.layers[i]);
    if (layer) layers_.push_back(std::move(layer));  // "none" in the list keeps the other names
  }
}

Tensor Sequential::fprop(const Tensor& x, FpropContext& context) {
  return in_turn(layers_, x, context);
}

Repeat::Repeat(const Config& config, Scope& scope) {
  for (std::int64_t i = 0; i < config.x_times; ++i) {
    auto layer = scope.layer("sub_" + std::to_string(i), config.sub);
    if (layer) layers_.push_back(std::move(layer));
  }
}

Tensor Repeat::fprop(const Tensor& x, FpropContext& context) {
  return in_turn(layers_, x, context);
}

Residual::Residual(const Config& config, Scope& scope)
    : path_(scope.path()),
      residual_weight_(static_cast<float>(config.residual_weight)),
      sub_(scope.layer("sub", config.sub)),
      shortcut_(scope.layer("shortcut", config.shortcut)) {
  if (!sub_) throw Error("[nn/Residual] '" + path_ + "': sub is \"none\"");
}

Tensor Residual::fprop(const Tensor& x, FpropContext& context) {
  const Tensor straight = shortcut_ ? shortcut_->fprop(x, context) : x;
  Tensor y = sub_->fprop(x, context);
  if (!(y.shape() == straight.shape())) {
    wrong_input("nn/Residual", path_, straight.shape().to_string() + " from sub", y,
                shortcut_ ? "" : "set a shortcut that changes the shape in the same way");
  }
  if (residual_weight_ != 1) y = ops::mul(y, residual_weight_);
  return ops::add(straight, y);
}

}  // namespace trivet::nn
