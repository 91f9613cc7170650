// SPDX-License-Identifier: Apache-2.0
#include "optim/parts/slot_dtype.h"

#include <limits>

#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::optim {
namespace {

constexpr float kLargest = 127;  // int8's -128 is not used
constexpr float kNumbers = 256;  // of int8
constexpr double kNormal = std::numeric_limits<float>::min();

// Floats of this size have no fraction, and sums are rounded to even.
constexpr float kNoFraction = 12582912;  // 1.5 * 2^23

Tensor rounded(const Tensor& x) {
  return ops::add(ops::add(x, kNoFraction), -kNoFraction);
}

Tensor number(const Tensor& beside, double value) {
  return Tensor::full(beside.device(), {1}, value);
}

}  // namespace

DType dtype_of_slot(std::string_view slot, MomentumDtype m_dtype) {
  return slot == "m" && m_dtype == MomentumDtype::bfloat16 ? DType::bf16 : DType::f32;
}

Tensor widened(const Tensor& slot) {
  return ops::cast(slot, DType::f32);
}

void store(Tensor& slot, const Tensor& value) {
  assign(slot, ops::cast(value, slot.dtype()));
}

Quantized quantized(const Tensor& x) {
  const Tensor scale = ops::div(ops::max(ops::abs(x), 0), number(x, kLargest));
  const Tensor divisor = ops::where(ops::less(scale, number(x, kNormal)), number(x, 1), scale);
  const Tensor q = rounded(ops::div(x, divisor));
  const Tensor bits = ops::where(ops::less(q, number(x, 0)), ops::add(q, kNumbers), q);
  return {.values = ops::cast(bits, DType::u8), .scale = scale};
}

Tensor dequantized(const Quantized& x) {
  const Tensor bits = ops::cast(x.values, DType::f32);
  const Tensor is_negative = ops::less(number(bits, kLargest), bits);
  const Tensor q = ops::where(is_negative, ops::add(bits, -kNumbers), bits);
  return ops::mul(q, x.scale);
}

}  // namespace trivet::optim
