// SPDX-License-Identifier: Apache-2.0
#include "adagrad.h"

#include "optim/parts/moments.h"
#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::optim {

void Adagrad::update(const OptimizerStep& step, std::span<OptimizerSegment> segments) {
  const auto epsilon = static_cast<float>(config_.epsilon);
  for (OptimizerSegment& segment : segments) {
    const Tensor g = scaled(segment.gradient, step.gradient_scale);
    const Tensor sum = ops::add(segment.slots[0], ops::square(g));
    const Tensor change =
        ops::div(scaled(g, step.learning_rate), ops::add(ops::sqrt(sum), epsilon));
    assign(segment.value, ops::sub(segment.value, change));
    assign(segment.slots[0], sum);
  }
}

}  // namespace trivet::optim
