// SPDX-License-Identifier: Apache-2.0
// Filling and packing the memory of tensors, off the tape.
#pragma once

#include "trivet/tensor.h"

namespace trivet::detail {

void fill(Tensor& x, double value);
Tensor packed(const Tensor& x);                         // contiguous, itself when it is
void copy_into(const tv_view& to, const Tensor& from);  // same shape, any strides and types

}  // namespace trivet::detail
