// SPDX-License-Identifier: Apache-2.0
#include "lion.h"

#include "optim/parts/moments.h"
#include "trivet/train/optim_update.h"

namespace trivet::optim {

void LionConfig::validate(Diagnostics& diagnostics) const {
  DecayConfig::validate(diagnostics);
  expect_below_one(diagnostics, "beta1", beta1);
  expect_below_one(diagnostics, "beta2", beta2);
}

void Lion::update(const OptimizerStep& step, std::span<OptimizerSegment> segments) {
  tv_optim update{};
  update.kind = TV_LION;
  update.grad_scale = step.gradient_scale;
  update.lr = static_cast<float>(step.learning_rate);
  update.beta1 = static_cast<float>(config_.beta1);
  update.beta2 = static_cast<float>(config_.beta2);
  for (OptimizerSegment& segment : segments) {
    const bool decays = segment.group == DecayFilter::kDecays;
    update.weight_decay = decays ? static_cast<float>(config_.weight_decay) : 0;
    optim_update(update, segment);
  }
}

}  // namespace trivet::optim
