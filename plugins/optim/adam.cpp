// SPDX-License-Identifier: Apache-2.0
#include "adam.h"

#include <cmath>

#include "trivet/optim_update.h"

namespace trivet::optim {
namespace {

// One update of all segments that share a weight decay. The powers are computed in double: in float
// 1 - 0.999^1 has an error of 6e-5.
tv_optim adam_update(const OptimizerStep& step, double beta1, double beta2, double epsilon) {
  const auto t = static_cast<double>(step.step + 1);
  tv_optim update{};
  update.kind = TV_ADAM;
  update.grad_scale = step.gradient_scale;
  update.lr = static_cast<float>(step.learning_rate);
  update.beta1 = static_cast<float>(beta1);
  update.beta2 = static_cast<float>(beta2);
  update.epsilon = static_cast<float>(epsilon);
  update.step_size = static_cast<float>(step.learning_rate / (1 - std::pow(beta1, t)));
  update.v_scale = static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, t)));
  return update;
}

}  // namespace

Adam::Adam(const Config& config) : config_(config) {}

std::vector<std::string> Adam::slots() const {
  return {"m", "v"};
}

void Adam::update(const OptimizerStep& step, std::span<OptimizerSegment> segments) {
  const tv_optim update = adam_update(step, config_.beta1, config_.beta2, config_.epsilon);
  for (OptimizerSegment& segment : segments) optim_update(update, segment);
}

AdamW::AdamW(const Config& config) : config_(config), filter_(config) {}

std::vector<std::string> AdamW::slots() const {
  return {"m", "v"};
}

std::int64_t AdamW::group_of(const Parameter& parameter) const {
  return filter_.group_of(parameter);
}

void AdamW::update(const OptimizerStep& step, std::span<OptimizerSegment> segments) {
  tv_optim update = adam_update(step, config_.beta1, config_.beta2, config_.epsilon);
  for (OptimizerSegment& segment : segments) {
    const bool decays = segment.group == DecayFilter::kDecays;
    update.weight_decay = decays ? static_cast<float>(config_.weight_decay) : 0;
    optim_update(update, segment);
  }
}

}  // namespace trivet::optim
