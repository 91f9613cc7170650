// SPDX-License-Identifier: Apache-2.0
#include "nn/quantization/quantizer.h"

#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

constexpr ops::ReduceOptions kKeep{.keep_dims = true};

void straight_through_vjp(Vjp& v) {
  v.add(0, v.grad_output());
}
constexpr OpDef kStraightThrough{"straight_through", straight_through_vjp};

void clipped_vjp(Vjp& v) {
  const Tensor& dy = v.grad_output();
  v.add(0, ops::where(v.saved(0), dy, Tensor::zeros(dy.device(), dy.shape())));
}
constexpr OpDef kClipped{"straight_through_clipped", clipped_vjp};

// `value`, with the gradient of x where `inside` is true; everywhere if it is undefined.
Tensor straight_through(const Tensor& x, Tensor value, const Tensor& inside) {
  if (inside.defined()) {
    record(kClipped, {x}, value, {inside});
  } else {
    record(kStraightThrough, {x}, value);
  }
  return value;
}

}  // namespace

void QuantizationConfig::validate(Diagnostics& diagnostics) const {
  if (unsigned_int_bounds && !use_symmetric) {
    diagnostics.add("unsigned_int_bounds",
                    "has no effect with use_symmetric = false, whose range has a zero point",
                    "remove it");
  }
}

Tensor Quantized::values() const {
  const Tensor scaled = ops::mul(integers, scale);
  return offset.defined() ? ops::sub(scaled, offset) : scaled;
}

Quantizer::Quantizer(const QuantizationConfig& config)
    : symmetric_(config.use_symmetric),
      stop_gradient_(config.stop_scale_gradient),
      clips_(config.unsigned_int_bounds || config.clipping_coeff < 1),
      low_(0),
      high_(static_cast<float>((std::int64_t{1} << config.bits) - 1)),
      clipping_(static_cast<float>(config.clipping_coeff)) {
  if (config.unsigned_int_bounds) return;
  low_ = static_cast<float>(-(std::int64_t{1} << (config.bits - 1)));
  high_ = -low_ - 1;
}

Tensor Quantizer::clipped(const Tensor& bound, const Tensor& clipping) const {
  if (clipping.defined()) return ops::mul(bound, clipping);
  return clipping_ < 1 ? ops::mul(bound, clipping_) : bound;
}

Quantizer::Grid Quantizer::grid(const Tensor& x, const Tensor& clipping) const {
  std::optional<NoGrad> no_grad;
  if (stop_gradient_) no_grad.emplace();
  const Tensor zero = Tensor::scalar(x.device(), 0);
  // Where all is 0, any scale will do.
  const auto positive = [&](const Tensor& bound) {
    return ops::where(ops::less(zero, bound), bound,
                      Tensor::full(x.device(), bound.shape(), symmetric_ ? 1 : high_ - low_));
  };
  if (symmetric_) {
    const Tensor bound = clipped(ops::max(ops::abs(x), 1, kKeep), clipping);
    return {ops::mul(positive(bound), 1 / high_), {}};
  }
  const Tensor smallest = ops::neg(ops::max(ops::neg(x), 1, kKeep));
  const Tensor range = clipped(ops::sub(ops::max(x, 1, kKeep), smallest), clipping);
  const Tensor scale = ops::mul(positive(range), 1 / (high_ - low_));
  return {scale, ops::add(ops::neg(ops::div(clipped(smallest, clipping), scale)), low_)};
}

Quantizer::Rounded Quantizer::rounded(const Tensor& x, const Tensor& clipping) const {
  const Grid grid = this->grid(x, clipping);
  Tensor scaled = ops::div(x, grid.scale);
  if (grid.zero.defined()) scaled = ops::add(scaled, grid.zero);
  Rounded result{.scaled = scaled, .grid = grid};
  const NoGrad no_grad;
  const Tensor integers = ops::floor(ops::add(scaled, 0.5F));
  result.integers = ops::min(ops::max(integers, Tensor::scalar(x.device(), low_)),
                             Tensor::scalar(x.device(), high_));
  if (clips_ || clipping.defined()) result.inside = ops::equal(integers, result.integers);
  return result;
}

Quantized Quantizer::quantize(const Tensor& x, const Tensor& clipping) const {
  const Rounded found = rounded(x, clipping);
  const auto& [scale, zero] = found.grid;
  return {straight_through(found.scaled, found.integers, found.inside), scale,
          zero.defined() ? ops::mul(scale, zero) : Tensor()};
}

Tensor Quantizer::nearest(const Tensor& x, const Tensor& clipping) const {
  if (!stop_gradient_) return quantize(x, clipping).values();
  Rounded found;
  Tensor values;
  {
    const NoGrad no_grad;
    found = rounded(x, clipping);
    const auto& [scale, zero] = found.grid;
    values = ops::mul(found.integers, scale);
    if (zero.defined()) values = ops::sub(values, ops::mul(scale, zero));
  }
  return straight_through(x, values, found.inside);
}

}  // namespace trivet::nn
