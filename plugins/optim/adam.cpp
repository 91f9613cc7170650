// SPDX-License-Identifier: Apache-2.0
#include "adam.h"

#include <cmath>

#include "trivet/optim_update.h"

namespace trivet::optim {
namespace {

// One update of all segments that share a weight decay. The powers are computed in double: in float
// 1 - 0.999^1 has an error of 6e-5.
template <class Config>
tv_optim adam_update(const OptimizerStep& step, const Config& config) {
  const auto t = static_cast<double>(step.step + 1);
  tv_optim update{};
  update.kind = TV_ADAM;
  update.grad_scale = step.gradient_scale;
  update.lr = static_cast<float>(step.learning_rate);
  update.beta1 = static_cast<float>(config.beta1);
  update.beta2 = static_cast<float>(config.beta2);
  update.step_size = static_cast<float>(step.learning_rate / (1 - std::pow(config.beta1, t)));
  const double v_scale = 1 / std::sqrt(1 - std::pow(config.beta2, t));
  update.v_scale = static_cast<float>(v_scale);
  update.epsilon = static_cast<float>(config.epsilon * (config.epsilon_hat ? v_scale : 1));
  return update;
}

}  // namespace

Adam::Adam(const Config& config) : config_(config) {}

std::vector<std::string> Adam::slots() const {
  return {"m", "v"};
}

void Adam::update(const OptimizerStep& step, std::span<OptimizerSegment> segments) {
  const tv_optim update = adam_update(step, config_);
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
  tv_optim update = adam_update(step, config_);
  for (OptimizerSegment& segment : segments) {
    const bool decays = segment.group == DecayFilter::kDecays;
    update.weight_decay = decays ? static_cast<float>(config_.weight_decay) : 0;
    optim_update(update, segment);
  }
}

}  // namespace trivet::optim
