// SPDX-License-Identifier: Apache-2.0
#include "adagrad.h"

#include "optim/parts/moments.h"
#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::optim {

void AdagradConfig::validate(Diagnostics& diagnostics) const {
  if (epsilon > 0 || epsilon_root > 0) return;
  diagnostics.add("epsilon", "is 0, and epsilon_root, too: the first gradients may be divided by 0",
                  "set one of them above 0");
}

void Adagrad::update(const OptimizerStep& step, std::span<OptimizerSegment> segments) {
  const auto epsilon = static_cast<float>(config_.epsilon);
  const auto epsilon_root = static_cast<float>(config_.epsilon_root);
  for (OptimizerSegment& segment : segments) {
    const Tensor g = scaled(segment.gradient, step.gradient_scale);
    const Tensor sum = ops::add(segment.slots[0], ops::square(g));
    const Tensor root = ops::sqrt(ops::add(sum, epsilon_root));
    const Tensor change = ops::div(scaled(g, step.learning_rate), ops::add(root, epsilon));
    assign(segment.value, ops::sub(segment.value, change));
    assign(segment.slots[0], sum);
  }
}

}  // namespace trivet::optim
