// SPDX-License-Identifier: Apache-2.0
#include "adam.h"

#include <cmath>

#include "moments.h"
#include "trivet/ops.h"
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

template <class Config>
std::vector<std::string> adam_slots(const Config& config) {
  std::vector<std::string> names{"m", "v"};
  if (config.amsgrad) names.emplace_back("v_max");
  return names;
}

// The update of a segment by the same numbers, with the third slot in the place of the second.
void update_amsgrad(const tv_optim& update, OptimizerSegment& segment) {
  const Tensor g = scaled(segment.gradient, static_cast<double>(update.grad_scale));
  const Tensor m = moving_mean(segment.slots[0], g, static_cast<double>(update.beta1));
  const Tensor v = moving_mean(segment.slots[1], ops::square(g), static_cast<double>(update.beta2));
  const Tensor v_max = ops::max(segment.slots[2], v);
  const Tensor spread = ops::add(ops::mul(ops::sqrt(v_max), update.v_scale), update.epsilon);
  const Tensor change = ops::mul(ops::div(m, spread), update.step_size);
  const Tensor kept = ops::mul(segment.value, 1 - update.lr * update.weight_decay);
  assign(segment.value, ops::sub(kept, change));
  assign(segment.slots[0], m);
  assign(segment.slots[1], v);
  assign(segment.slots[2], v_max);
}

void update_segment(const tv_optim& update, bool amsgrad, OptimizerSegment& segment) {
  if (amsgrad) return update_amsgrad(update, segment);
  optim_update(update, segment);
}

}  // namespace

Adam::Adam(const Config& config) : config_(config) {}

std::vector<std::string> Adam::slots() const {
  return adam_slots(config_);
}

void Adam::update(const OptimizerStep& step, std::span<OptimizerSegment> segments) {
  const tv_optim update = adam_update(step, config_);
  for (OptimizerSegment& segment : segments) update_segment(update, config_.amsgrad, segment);
}

AdamW::AdamW(const Config& config) : config_(config), filter_(config) {}

std::vector<std::string> AdamW::slots() const {
  return adam_slots(config_);
}

std::int64_t AdamW::group_of(const Parameter& parameter) const {
  return filter_.group_of(parameter);
}

void AdamW::update(const OptimizerStep& step, std::span<OptimizerSegment> segments) {
  tv_optim update = adam_update(step, config_);
  for (OptimizerSegment& segment : segments) {
    const bool decays = segment.group == DecayFilter::kDecays;
    update.weight_decay = decays ? static_cast<float>(config_.weight_decay) : 0;
    update_segment(update, config_.amsgrad, segment);
  }
}

}  // namespace trivet::optim
