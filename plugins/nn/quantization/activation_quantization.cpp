// SPDX-License-Identifier: Apache-2.0
#include "nn/quantization/activation_quantization.h"

#include <vector>

#include "trivet/layer/extend_step.h"
#include "trivet/ops.h"

namespace trivet::nn {

ActivationQuantization::ActivationQuantization(const Config& config, Scope&)
    : quantizer_(config), per_row_(config.per_channel) {}

// [groups, numbers of a group, 1].
Tensor ActivationQuantization::groups(const Tensor& x) const {
  const std::int64_t group = per_row_ && x.rank() > 0 ? x.dim(-1) : x.size();
  return ops::reshape(x, {x.size() / group, group, 1});
}

Tensor ActivationQuantization::fprop(const Tensor& x, FpropContext&) {
  if (x.size() == 0) return x;
  return ops::reshape(quantizer_.nearest(groups(x)), x.shape());
}

std::optional<Quantized> ActivationQuantization::factored(const Tensor& x, FpropContext&) {
  if (!quantizer_.symmetric() || x.rank() == 0 || x.size() == 0) return std::nullopt;
  const Quantized found = quantizer_.quantize(groups(x));
  std::vector<std::int64_t> extents{1};
  if (per_row_) {
    extents.assign(x.shape().begin(), x.shape().end());
    extents.back() = 1;
  }
  return Quantized{.integers = ops::reshape(found.integers, x.shape()),
                   .scale = ops::reshape(found.scale, Shape(extents)),
                   .offset = {}};
}

const void* ActivationQuantization::extension(std::string_view id) const noexcept {
  if (id == kQuantizingLayer) return static_cast<const QuantizingLayer*>(this);
  return id == kLayerLocalInTime && per_row_ ? this : nullptr;
}

}  // namespace trivet::nn
