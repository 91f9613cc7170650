// SPDX-License-Identifier: Apache-2.0
#include "optim/around/regularized.h"

#include "optim/parts/moments.h"
#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::optim {
namespace {

// What the filter selects by: it makes one group of all when nothing decays.
DecayConfig selection(const RegularizedConfig& config) {
  DecayConfig decay = config;
  decay.weight_decay = config.weight_decay + config.l1 + config.l2;
  return decay;
}

}  // namespace

void RegularizedConfig::validate(Diagnostics& diagnostics) const {
  DecayConfig::validate(diagnostics);
  if (weight_decay == 0 && l1 == 0 && l2 == 0) {
    diagnostics.add("optimizer", "is not regularized: set weight_decay, l1 or l2");
  }
}

Regularized::Regularized(const Config& config)
    : Around(config.optimizer), config_(config), filter_(selection(config)) {}

// Two groups for each of the optimizer's own.
std::int64_t Regularized::group_of(const Parameter& parameter) const {
  return 2 * Around::group_of(parameter) + filter_.group_of(parameter);
}

void Regularized::check_variables(std::span<const Parameter* const> variables) const {
  filter_.check_variables(variables);
  Around::check_variables(variables);
}

void Regularized::update_one(const OptimizerStep& step, const OptimizerSegment& segment) {
  OptimizerStep inner_step = step;
  OptimizerSegment part = segment;
  part.group = segment.group / 2;
  const bool decays = segment.group % 2 == DecayFilter::kDecays;
  if (decays && (config_.l1 > 0 || config_.l2 > 0)) {
    part.gradient = scaled(segment.gradient, step.gradient_scale);
    inner_step.gradient_scale = 1;
    if (config_.l1 > 0) {
      part.gradient = ops::add(part.gradient, scaled(sign(segment.value), config_.l1));
    }
    if (config_.l2 > 0) part.gradient = ops::add(part.gradient, scaled(segment.value, config_.l2));
  }
  Tensor decay;
  if (decays && config_.weight_decay > 0) {
    decay = scaled(segment.value, step.learning_rate * config_.weight_decay);
  }
  update_inner(inner_step, part);
  if (decay.defined()) assign(part.value, ops::sub(part.value, decay));
}

}  // namespace trivet::optim
