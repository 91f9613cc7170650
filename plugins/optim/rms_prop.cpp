// SPDX-License-Identifier: Apache-2.0
#include "rms_prop.h"

#include "optim/parts/moments.h"
#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::optim {

void RmsPropConfig::validate(Diagnostics& diagnostics) const {
  if (learning_rate_in_momentum && momentum == 0) {
    diagnostics.add("learning_rate_in_momentum", "needs a momentum above 0");
  }
}

std::vector<std::string> RmsProp::slots() const {
  std::vector<std::string> names{"square"};
  if (config_.centered) names.emplace_back("mean");
  if (config_.momentum > 0) names.emplace_back("momentum");
  return names;
}

void RmsProp::update(const OptimizerStep& step, std::span<OptimizerSegment> segments) {
  for (OptimizerSegment& segment : segments) update(step, segment);
}

void RmsProp::update(const OptimizerStep& step, OptimizerSegment& segment) const {
  const Tensor g = scaled(segment.gradient, step.gradient_scale);
  const Tensor square = moving_mean(segment.slots[0], ops::square(g), config_.rho);
  assign(segment.slots[0], square);
  Tensor spread = square;
  if (config_.centered) {
    const Tensor mean = moving_mean(segment.slots[1], g, config_.rho);
    assign(segment.slots[1], mean);
    // Rounding may make it negative if all gradients are equal.
    const Tensor zero = Tensor::zeros(g.device(), g.shape());
    spread = ops::max(ops::sub(square, ops::square(mean)), zero);
  }
  Tensor u = ops::div(g, ops::add(ops::sqrt(spread), static_cast<float>(config_.epsilon)));
  const bool inside = config_.learning_rate_in_momentum;
  if (inside) u = scaled(u, step.learning_rate);
  if (config_.momentum > 0) {
    u = ops::add(scaled(segment.slots.back(), config_.momentum), u);
    assign(segment.slots.back(), u);
  }
  assign(segment.value, ops::sub(segment.value, inside ? u : scaled(u, step.learning_rate)));
}

}  // namespace trivet::optim
