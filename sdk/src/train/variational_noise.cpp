// SPDX-License-Identifier: Apache-2.0
#include "train/variational_noise.h"

#include "trivet/config/patterns.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::detail {

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
    Tensor noise = Tensor::host(variable->shape());
    random_normal(drawn.fold(variable->path()), 0, scale_, noise.mutable_span<float>());
    variable->assign(ops::add(variable->value(), noise.to(store_.device())));
  }
}

void VariationalNoise::remove() {
  if (!added_) return;
  assign(store_.trainable_values(), without_);
  added_ = false;
}

}  // namespace trivet::detail
