// SPDX-License-Identifier: Apache-2.0
#include "lamb.h"

#include <cmath>

#include "optim/parts/moments.h"
#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::optim {

void Lamb::update(const OptimizerStep& step, std::span<OptimizerSegment> segments) {
  for (OptimizerSegment& segment : segments) update(step, segment);
}

void Lamb::update(const OptimizerStep& step, OptimizerSegment& segment) const {
  const auto t = static_cast<double>(step.step + 1);
  const Tensor g = scaled(segment.gradient, step.gradient_scale);
  const Tensor m = moving_mean(segment.slots[0], g, config_.beta1);
  const Tensor v = moving_mean(segment.slots[1], ops::square(g), config_.beta2);
  const Tensor mean = scaled(m, 1 / (1 - std::pow(config_.beta1, t)));
  const Tensor root = ops::sqrt(scaled(v, 1 / (1 - std::pow(config_.beta2, t))));
  Tensor u = ops::div(mean, ops::add(root, static_cast<float>(config_.epsilon)));
  if (config_.weight_decay > 0 && LayerFilter::decays(segment.group)) {
    u = ops::add(u, scaled(segment.value, config_.weight_decay));
  }
  Tensor change = scaled(u, step.learning_rate);
  if (LayerFilter::adapts(segment.group)) {
    change = ops::mul(change, trust_ratio(segment.value, u, 1));
  }
  assign(segment.value, ops::sub(segment.value, change));
  assign(segment.slots[0], m);
  assign(segment.slots[1], v);
}

}  // namespace trivet::optim
