// SPDX-License-Identifier: Apache-2.0
#include "optim/around/pruned.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "optim/parts/decay_filter.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::optim {
namespace {

constexpr std::string_view kMask = "mask";

// 1 for the largest absolute values, at least `kept` of them; 0 for the others.
Tensor mask_of(const Tensor& weights, std::int64_t kept) {
  std::vector<float> sizes = weights.to_host<float>();
  // NaN has no order; as the largest it stays, and the loss shows it.
  for (float& size : sizes) {
    size = std::isnan(size) ? std::numeric_limits<float>::infinity() : std::abs(size);
  }
  float threshold = std::numeric_limits<float>::infinity();
  if (kept > 0) {
    std::vector<float> sorted = sizes;
    std::ranges::nth_element(sorted, sorted.begin() + (kept - 1), std::greater<>());
    threshold = sorted[static_cast<std::size_t>(kept - 1)];
  }
  Tensor mask = Tensor::host(weights.shape());
  std::ranges::transform(sizes, mask.mutable_span<float>().begin(),
                         [&](float size) { return size >= threshold ? 1.0F : 0.0F; });
  return mask.to(weights.device());
}

}  // namespace

void PrunedConfig::validate(Diagnostics& diagnostics) const {
  check_patterns(diagnostics, "variables", variables);
  if (begin_step >= end_step) {
    diagnostics.add("begin_step", "must be before end_step");
  }
}

Pruned::Pruned(const Config& config)
    : Around(config.optimizer), config_(config), patterns_(config.variables) {}

std::vector<std::string> Pruned::slots() const {
  std::vector<std::string> names = Around::slots();
  names.emplace_back(kMask);
  return names;
}

double Pruned::slot_start(std::string_view slot) const {
  return slot == kMask ? 1 : Around::slot_start(slot);
}

Shape Pruned::slot_shape(std::string_view slot, const Parameter& parameter) const {
  if (slot != kMask) {
    return inner().per_variable() ? Around::slot_shape(slot, parameter) : parameter.shape();
  }
  return prunes(parameter) ? parameter.shape() : Shape{0};
}

DType Pruned::slot_dtype(std::string_view slot, const Parameter& parameter) const {
  return slot == kMask ? DType::f32 : Around::slot_dtype(slot, parameter);
}

void Pruned::check_variables(std::span<const Parameter* const> variables) const {
  expect_found(config_.variables, "variables", variables);
  Around::check_variables(variables);
}

bool Pruned::prunes(const Parameter& parameter) const {
  return config_.variables.empty() ? parameter.shape().rank() >= 2
                                   : patterns_.found_in(parameter.path());
}

// The last choice is at end_step, also where the interval does not divide the steps.
bool Pruned::chooses(std::int64_t step) const {
  if (step < config_.begin_step || step > config_.end_step) return false;
  return step == config_.end_step || (step - config_.begin_step) % config_.interval == 0;
}

double Pruned::sparsity_at(std::int64_t step) const {
  const double done = static_cast<double>(step - config_.begin_step) /
                      static_cast<double>(config_.end_step - config_.begin_step);
  return config_.final_sparsity +
         (config_.initial_sparsity - config_.final_sparsity) * std::pow(1 - done, config_.power);
}

void Pruned::update_one(const OptimizerStep& step, const OptimizerSegment& segment) {
  OptimizerSegment part = segment;
  part.slots.pop_back();
  if (!inner().per_variable()) part.parameter = nullptr;
  update_inner(step, part);
  Tensor mask = segment.slots.back();
  if (!mask.defined()) return;
  if (chooses(step.step)) {
    const auto size = static_cast<double>(part.value.size());
    assign(mask, mask_of(part.value, std::llround((1 - sparsity_at(step.step)) * size)));
  }
  assign(part.value, ops::mul(part.value, mask));
}

}  // namespace trivet::optim
