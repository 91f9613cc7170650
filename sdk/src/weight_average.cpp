// SPDX-License-Identifier: Apache-2.0
#include "weight_average.h"

#include <algorithm>

#include "block_layout.h"
#include "trivet/optim_update.h"

namespace trivet::detail {
namespace {

double share_kept(const EmaConfig& config, std::int64_t updates) {
  const auto s = static_cast<double>(updates - config.start_step);
  if (s < 0) return 0;
  return config.dynamic_decay ? std::min(config.decay, (1 + s) / (10 + s)) : config.decay;
}

}  // namespace

WeightAverage::WeightAverage(ParameterStore& store, const EmaConfig& config)
    : store_(store), config_(config) {
  segment_.value = Tensor::zeros(store.device(), store.trainable_values().shape());
  segment_.gradient = store.trainable_values();
}

void WeightAverage::start() {
  assign(segment_.value, store_.trainable_values());
}

void WeightAverage::update(std::int64_t updates) {
  const double kept = share_kept(config_, updates);
  if (kept == 0) return start();
  // average -= (1 - k) (average - w) is a step of gradient descent with the gradient -w and a
  // weight decay of 1: one pass where the backend has the optimizer's kernel.
  tv_optim step{};
  step.kind = TV_SGD;
  step.grad_scale = -1;
  step.weight_decay = 1;
  step.lr = static_cast<float>(1 - kept);
  optim_update(step, segment_);
}

void WeightAverage::swap() {
  Tensor& weights = store_.trainable_values();
  Tensor kept = Tensor::empty(store_.device(), weights.shape());
  assign(kept, weights);
  assign(weights, segment_.value);
  assign(segment_.value, kept);
}

std::vector<std::pair<std::string, Tensor>> WeightAverage::tensors() const {
  std::vector<std::pair<std::string, Tensor>> out;
  for (const auto& parameter : store_.parameters()) {
    if (!parameter->trainable()) continue;
    const std::int64_t begin = store_.offset_of(*parameter);
    const Tensor part = part_of(segment_.value, begin, begin + parameter->shape().size());
    out.emplace_back(parameter->path(), ops::reshape(part, parameter->shape()));
  }
  return out;
}

}  // namespace trivet::detail
