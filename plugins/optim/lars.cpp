// SPDX-License-Identifier: Apache-2.0
#include "lars.h"

#include "optim/parts/moments.h"
#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::optim {

void Lars::update(const OptimizerStep& step, std::span<OptimizerSegment> segments) {
  for (OptimizerSegment& segment : segments) update(step, segment);
}

Tensor Lars::adapted(const Tensor& x, const OptimizerSegment& segment, double learning_rate) const {
  if (!LayerFilter::adapts(segment.group)) return scaled(x, learning_rate);
  const Tensor trust = trust_ratio(segment.value, x, config_.eeta);
  return ops::mul(x, scaled(trust, learning_rate));
}

void Lars::update(const OptimizerStep& step, OptimizerSegment& segment) const {
  Tensor g = scaled(segment.gradient, step.gradient_scale);
  if (config_.weight_decay > 0 && LayerFilter::decays(segment.group)) {
    g = ops::add(g, scaled(segment.value, config_.weight_decay));
  }
  const bool classic = config_.classic_momentum;
  const Tensor added = classic ? adapted(g, segment, step.learning_rate) : g;
  const Tensor v = ops::add(scaled(segment.slots[0], config_.momentum), added);
  const Tensor direction = config_.nesterov ? ops::add(scaled(v, config_.momentum), added) : v;
  const Tensor change = classic ? direction : adapted(direction, segment, step.learning_rate);
  assign(segment.value, ops::sub(segment.value, change));
  assign(segment.slots[0], v);
}

}  // namespace trivet::optim
