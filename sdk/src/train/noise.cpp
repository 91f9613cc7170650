// SPDX-License-Identifier: Apache-2.0
#include "train/noise.h"

#include "layer/block_units.h"
#include "layer/weight_parts.h"
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

OwnParts parts_in(const ParameterStore& store) {
  if (store.parts() != nullptr) return store.parts()->parts();
  const auto all = std::make_shared<UnitParts>(BlockUnits(store.trainable_size()), MeshShards());
  return {all, OwnParts::Has::all};
}

}  // namespace

VariationalNoise::VariationalNoise(ParameterStore& store, const VariationalNoiseConfig& config)
    : store_(store),
      scale_(config.scale),
      start_step_(config.start_step),
      has_(parts_in(store)),
      values_(store.parts() != nullptr ? store.parts()->own() : store.trainable_values()) {
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
  without_ = Tensor::empty(store.device(), values_.shape());
}

void VariationalNoise::add(RngKey key, std::int64_t step) {
  remove();
  if (step < start_step_) return;
  assign(without_, values_);
  added_ = true;
  const RngKey drawn = key.fold("variational_noise");
  for (Parameter* variable : variables_) {
    const std::int64_t begin = store_.offset_of(*variable), size = variable->shape().size();
    const OwnParts::Overlap own = has_.overlap({begin, begin + size});
    if (own.range.size() == 0) continue;
    const Tensor noise = ops::reshape(noise_for(*variable, drawn, scale_, store_.device()), {size});
    Tensor value = part_of(values_, own.position, own.end());
    assign(value, ops::add(value, part_of(noise, own.range.begin - begin, own.range.end - begin)));
  }
  forget_gathered();
}

void VariationalNoise::remove() {
  if (!added_) return;
  assign(values_, without_);
  added_ = false;
  forget_gathered();
}

void VariationalNoise::forget_gathered() const {
  if (store_.parts() != nullptr) store_.parts()->changed();
}

void GradientNoise::add(RngKey key) {
  const RngKey drawn = key.fold("gradient_noise");
  for (const auto& variable : store_.parameters()) {
    if (!variable->trainable() || !variable->has_gradient()) continue;
    const OwnParts::Overlap own = block_.own_part_of(*variable);
    if (own.range.size() == 0) continue;  // another process has it
    Tensor gradient = part_of(block_.gradients(), own.position, own.end());
    const Tensor noise = noise_for(*variable, drawn, stddev_, store_.device());
    assign(gradient, ops::add(gradient, ops::reshape(noise, gradient.shape())));
  }
}

}  // namespace trivet::detail
