// SPDX-License-Identifier: Apache-2.0
#include "train/weight_average.h"

#include <algorithm>
#include <utility>

#include "layer/block_units.h"
#include "trivet/train/optim_update.h"

namespace trivet::detail {
namespace {

double share_kept(const EmaConfig& config, std::int64_t updates) {
  const auto s = static_cast<double>(updates - config.start_step);
  if (s < 0) return 0;
  return config.dynamic_decay ? std::min(config.decay, (1 + s) / (10 + s)) : config.decay;
}

}  // namespace

WeightAverage::WeightAverage(ParameterStore& store, const EmaConfig& config,
                             const SharedBlock& block)
    : store_(store), shared_(block), config_(config) {
  const auto add = [&](const Tensor& weights) {
    OptimizerSegment segment;
    segment.value = Tensor::zeros(store.device(), weights.shape());
    segment.gradient = weights;
    blocks_.push_back(std::move(segment));
  };
  add(block.values());
  if (!config.trainable_weights_only && store.states().size() > 0) add(store.states());
}

void WeightAverage::start() {
  for (OptimizerSegment& block : blocks_) {
    if (block.value.size() > 0) assign(block.value, block.gradient);
  }
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
  for (OptimizerSegment& block : blocks_) {
    if (block.value.size() > 0) optim_update(step, block);
  }
}

void WeightAverage::swap() {
  for (OptimizerSegment& block : blocks_) {
    if (block.value.size() == 0) continue;
    Tensor kept = Tensor::empty(store_.device(), block.value.shape());
    assign(kept, block.gradient);
    assign(block.gradient, block.value);
    assign(block.value, kept);
  }
  shared_.share_values();
}

std::vector<SharedTensor> WeightAverage::tensors() const {
  std::vector<SharedTensor> out;
  for (const auto& parameter : store_.parameters()) {
    const std::size_t block = parameter->trainable() ? 0 : 1;
    if (block >= blocks_.size()) continue;
    std::int64_t begin = store_.offset_of(*parameter), end = begin + parameter->shape().size();
    if (parameter->trainable()) {
      const OwnParts::Overlap own = shared_.own_part_of(*parameter);
      begin = own.position;
      end = own.end();
    }
    out.push_back({.name = parameter->path(),
                   .shape = parameter->shape(),
                   .part = part_of(blocks_[block].value, begin, end),
                   .variable = parameter.get()});
  }
  return out;
}

}  // namespace trivet::detail
