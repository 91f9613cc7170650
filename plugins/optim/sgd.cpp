// SPDX-License-Identifier: Apache-2.0
#include "sgd.h"

#include "trivet/train/optim_update.h"

namespace trivet::optim {

void SgdConfig::validate(Diagnostics& diagnostics) const {
  DecayConfig::validate(diagnostics);
  if (nesterov && momentum == 0) diagnostics.add("nesterov", "needs a momentum above 0");
  if (learning_rate_in_momentum && momentum == 0) {
    diagnostics.add("learning_rate_in_momentum", "needs a momentum above 0");
  }
}

Sgd::Sgd(const Config& config) : config_(config), filter_(config) {}

std::vector<std::string> Sgd::slots() const {
  if (config_.momentum == 0) return {};
  return {"momentum"};
}

std::int64_t Sgd::group_of(const Parameter& parameter) const {
  return filter_.group_of(parameter);
}

void Sgd::update(const OptimizerStep& step, std::span<OptimizerSegment> segments) {
  for (OptimizerSegment& segment : segments) {
    const bool decays = segment.group == DecayFilter::kDecays;
    tv_optim update{};
    update.kind = TV_SGD;
    update.nesterov = config_.nesterov;
    // Inside, the rate scales the momentum's input, decay included, and the step size is 1.
    const double inside = config_.learning_rate_in_momentum ? step.learning_rate : 1;
    update.grad_scale = static_cast<float>(step.gradient_scale * inside);
    update.lr = config_.learning_rate_in_momentum ? 1 : static_cast<float>(step.learning_rate);
    update.weight_decay = decays ? static_cast<float>(config_.weight_decay * inside) : 0;
    update.momentum = static_cast<float>(config_.momentum);
    optim_update(update, segment);
  }
}

}  // namespace trivet::optim
