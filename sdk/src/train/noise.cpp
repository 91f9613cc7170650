// SPDX-License-Identifier: Apache-2.0
#include "train/noise.h"

#include "trivet/config/patterns.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::detail {
namespace {

Tensor noise_for(const Parameter& variable, RngKey key, double stddev, Device& device) {
  Tensor noise = Tensor::host(variable.shape());
  random_normal(key.fold(variable.path()), 0, stddev, noise.mutable_span<float>());
  return noise.to(device);
}

}  // namespace

VariationalNoise::VariationalNoise(ParameterStore& store, const VariationalNoiseConfig& config)
    : store_(store), scale_(config.scale), start_step_(config.start_step) {
  const Patterns patterns(config.variables);
  for (const auto& parameter : store.parameters()) {
    const bool named = config.variables.empty() || patterns.matches(parameter->path());
    if (parameter->trainable() && named) variables_.push_back(parameter.get());
  }
  if (variables_.empty()) {
    throw ConfigError(Diagnostic{.path = "trainer.variational_noise.variables",
                                 .what = "the patterns match no trainable variable",
                                 .hint = "a pattern must match a whole path, e.g. \"body/.*\""});
  }
  without_ = Tensor::empty(store.device(), store.trainable_values().shape());
}

void VariationalNoise::add(RngKey key, std::int64_t step) {
  remove();
  if (step < start_step_) return;
  assign(without_, store_.trainable_values());
  added_ = true;
  const RngKey drawn = key.fold("variational_noise");
  for (Parameter* variable : variables_) {
    variable->assign(
        ops::add(variable->value(), noise_for(*variable, drawn, scale_, store_.device())));
  }
}

void VariationalNoise::remove() {
  if (!added_) return;
  assign(store_.trainable_values(), without_);
  added_ = false;
}

void GradientNoise::add(RngKey key) {
  const RngKey drawn = key.fold("gradient_noise");
  for (const auto& variable : store_.parameters()) {
    if (!variable->trainable() || !variable->has_gradient()) continue;
    Tensor& gradient = variable->gradient();
    assign(gradient, ops::add(gradient, noise_for(*variable, drawn, stddev_, store_.device())));
  }
}

}  // namespace trivet::detail
