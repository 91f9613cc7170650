// SPDX-License-Identifier: Apache-2.0
#include "train/weight_average.h"

#include <algorithm>
#include <utility>

#include "layer/block_layout.h"
#include "trivet/train/optim_update.h"

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
  const auto add = [&](const Tensor& block) {
    OptimizerSegment segment;
    segment.value = Tensor::zeros(store.device(), block.shape());
    segment.gradient = block;
    blocks_.push_back(std::move(segment));
  };
  add(store.trainable_values());
  if (!config.trainable_weights_only && store.states().size() > 0) add(store.states());
}

void WeightAverage::start() {
  for (OptimizerSegment& block : blocks_) assign(block.value, block.gradient);
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
  for (OptimizerSegment& block : blocks_) optim_update(step, block);
}

void WeightAverage::swap() {
  for (OptimizerSegment& block : blocks_) {
    Tensor kept = Tensor::empty(store_.device(), block.value.shape());
    assign(kept, block.gradient);
    assign(block.gradient, block.value);
    assign(block.value, kept);
  }
}

std::vector<std::pair<std::string, Tensor>> WeightAverage::tensors() const {
  std::vector<std::pair<std::string, Tensor>> out;
  for (const auto& parameter : store_.parameters()) {
    const std::size_t block = parameter->trainable() ? 0 : 1;
    if (block >= blocks_.size()) continue;
    const std::int64_t begin = store_.offset_of(*parameter);
    const std::int64_t end = begin + parameter->shape().size();
    const Tensor part = part_of(blocks_[block].value, begin, end);
    out.emplace_back(parameter->path(), ops::reshape(part, parameter->shape()));
  }
  return out;
}

}  // namespace trivet::detail
