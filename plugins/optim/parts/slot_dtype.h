// SPDX-License-Identifier: Apache-2.0
// The types in which optimizers keep a momentum. Formulas compute in f32, and what is stored is
// rounded to the nearest number of the type, ties to even. The update uses the momentum before
// that rounding, as in Praxis and optax.
#pragma once

#include <string_view>

#include "trivet/config.h"
#include "trivet/tensor.h"

namespace trivet::optim {

enum class MomentumDtype { float32, bfloat16 };
TRIVET_ENUM(MomentumDtype, float32, bfloat16)

// For Optimizer::slot_dtype: the slot "m" has this type, others are f32.
DType dtype_of_slot(std::string_view slot, MomentumDtype m_dtype);

// A slot of f32 or bf16 as f32, in its shape.
Tensor widened(const Tensor& slot);
// Rounds `value`, f32, to the type of `slot`, f32 or bf16, and stores it there.
void store(Tensor& slot, const Tensor& value);

// 8-bit integers with a scale for each column, as to_quantized of Praxis (praxis/optimizers.py).
//
//   scale = max over axis 0 of |x| / 127         q = round(x / scale), ties to even
//
// A q is at least -127 and at most 127; it is 0 where scale is 0 or a denormal number, whose few
// digits would make a larger q. u8 holds the bits of an int8: q, or q + 256 if it is below 0.
struct Quantized {
  Tensor values;  // u8 [rows, columns]
  Tensor scale;   // f32 [columns]
};
// x is f32 [rows, columns].
Quantized quantized(const Tensor& x);
// values * scale, in f32.
Tensor dequantized(const Quantized& x);

}  // namespace trivet::optim
