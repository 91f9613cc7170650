// SPDX-License-Identifier: Apache-2.0
#include "adam.h"

#include <cmath>

#include "optim/parts/moments.h"
#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::optim {
namespace {

// One update of all segments with the same weight decay.
struct Update {
  tv_optim plain{};
  bool amsgrad = false;
  double root = 0;            // epsilon_root before v's bias correction
  double clip_threshold = 0;  // before m's
};

// Computes powers in double: in float 1 - 0.999^1 has an error of 6e-5. The base is beta rounded to
// float, as the update uses it: 1 - 0.99999f is 1.4e-3 more than 1 - 0.99999.
double weight_after(double beta, double updates) {
  return 1 - std::pow(static_cast<double>(static_cast<float>(beta)), updates);
}

template <class Config>
Update adam_update(const OptimizerStep& step, const Config& config) {
  const auto t = static_cast<double>(step.step + 1);
  const double m_weight = weight_after(config.beta1, t), v_weight = weight_after(config.beta2, t);
  const double v_scale = 1 / std::sqrt(v_weight);
  tv_optim plain{};
  plain.kind = TV_ADAM;
  plain.grad_scale = step.gradient_scale;
  plain.lr = static_cast<float>(step.learning_rate);
  plain.beta1 = static_cast<float>(config.beta1);
  plain.beta2 = static_cast<float>(config.beta2);
  plain.step_size = static_cast<float>(step.learning_rate / m_weight);
  plain.v_scale = static_cast<float>(v_scale);
  plain.epsilon = static_cast<float>(config.epsilon * (config.epsilon_hat ? v_scale : 1));
  return {.plain = plain,
          .amsgrad = config.amsgrad,
          .root = config.epsilon_root * v_weight,
          .clip_threshold = config.clip_threshold * m_weight};
}

template <class Config>
std::vector<std::string> adam_slots(const Config& config) {
  std::vector<std::string> names{"m", "v"};
  if (config.amsgrad) names.emplace_back("v_max");
  return names;
}

// The formula of the backend's kernel, with options that the kernel lacks.
void update_composed(const Update& update, OptimizerSegment& segment) {
  const tv_optim& plain = update.plain;
  const Tensor g = scaled(segment.gradient, static_cast<double>(plain.grad_scale));
  const Tensor m = moving_mean(widened(segment.slots[0]), g, static_cast<double>(plain.beta1));
  const Tensor v = moving_mean(segment.slots[1], ops::square(g), static_cast<double>(plain.beta2));
  const Tensor squares = update.amsgrad ? ops::max(segment.slots[2], v) : v;
  const Tensor root = ops::sqrt(ops::add(squares, static_cast<float>(update.root)));
  const Tensor ratio = ops::div(m, ops::add(ops::mul(root, plain.v_scale), plain.epsilon));
  Tensor change = ops::mul(ratio, plain.step_size);
  if (update.clip_threshold > 0) {
    change = ops::div(change, clip_divisor(ratio, update.clip_threshold));
  }
  const Tensor kept = ops::mul(segment.value, 1 - plain.lr * plain.weight_decay);
  assign(segment.value, ops::sub(kept, change));
  store(segment.slots[0], m);
  assign(segment.slots[1], v);
  if (update.amsgrad) assign(segment.slots[2], squares);
}

void update_segment(const Update& update, OptimizerSegment& segment) {
  const bool composed = update.amsgrad || update.root > 0 || update.clip_threshold > 0;
  if (composed) return update_composed(update, segment);
  optim_update(update.plain, segment);
}

}  // namespace

Adam::Adam(const Config& config) : config_(config) {}

std::vector<std::string> Adam::slots() const {
  return adam_slots(config_);
}

void Adam::update(const OptimizerStep& step, std::span<OptimizerSegment> segments) {
  const Update update = adam_update(step, config_);
  for (OptimizerSegment& segment : segments) update_segment(update, segment);
}

AdamW::AdamW(const Config& config) : config_(config), filter_(config) {}

std::vector<std::string> AdamW::slots() const {
  return adam_slots(config_);
}

std::int64_t AdamW::group_of(const Parameter& parameter) const {
  return filter_.group_of(parameter);
}

void AdamW::update(const OptimizerStep& step, std::span<OptimizerSegment> segments) {
  Update update = adam_update(step, config_);
  for (OptimizerSegment& segment : segments) {
    const bool decays = segment.group == DecayFilter::kDecays;
    update.plain.weight_decay = decays ? static_cast<float>(config_.weight_decay) : 0;
    update_segment(update, segment);
  }
}

}  // namespace trivet::optim
