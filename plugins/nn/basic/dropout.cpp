// SPDX-License-Identifier: Apache-2.0
#include "nn/basic/dropout.h"

#include <algorithm>

#include "nn/basic/checks.h"
#include "trivet/ops.h"

namespace trivet::nn {

Dropout::Dropout(const Config& config, Scope& scope)
    : path_(scope.path()),
      rate_(static_cast<float>(config.rate)),
      together_(config.noise_broadcast_dims),
      at_eval_(config.dropout_at_eval) {}

Shape Dropout::noise_shape(const Tensor& x) const {
  std::vector<std::int64_t> extents(x.shape().begin(), x.shape().end());
  for (const std::int64_t axis : together_) {
    const std::int64_t at = axis < 0 ? axis + x.rank() : axis;
    if (at < 0 || at >= x.rank()) {
      wrong_input("nn/Dropout", path_,
                  "an input that has axis " + std::to_string(axis) + " of noise_broadcast_dims", x);
    }
    extents[static_cast<std::size_t>(at)] = 1;
  }
  return Shape(extents);
}

Tensor Dropout::fprop(const Tensor& x, FpropContext& context) {
  if ((!context.train && !at_eval_) || rate_ == 0) return x;
  const RngKey key = context.key_for(path_, "dropout");
  if (together_.empty()) return ops::dropout(x, rate_, key);
  return ops::mul(x, ops::dropout(Tensor::full(x.device(), noise_shape(x), 1), rate_, key));
}

std::vector<Tensor> Dropout::fprop_blocks(std::span<const Tensor> x, SequenceCut& cut) {
  const std::int64_t rank = x.front().rank();
  const bool are_alike = std::ranges::any_of(
      together_, [&](std::int64_t axis) { return axis == 1 || axis + rank == 1; });
  std::vector<Tensor> y(x.size());
  FpropContext together = cut.whole();
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = fprop(x[i], are_alike ? together : cut.context(i));
  }
  return y;
}

const void* Dropout::extension(std::string_view id) const noexcept {
  if (id == kLayerSequenceBlocks) return static_cast<const SequenceBlocks*>(this);
  return LocalLayer::extension(id);
}

}  // namespace trivet::nn
