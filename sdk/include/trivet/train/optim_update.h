// SPDX-License-Identifier: Apache-2.0
// One optimizer update, and the sums of squares that norms come from: the backend's kernels where
// it has them, compositions of its mandatory functions otherwise. [run-thread]
#pragma once

#include "trivet/backend/backend.h"
#include "trivet/base/export.h"
#include "trivet/optimizer.h"
#include "trivet/tensor.h"

namespace trivet {

// Updates segment.value and segment.slots in place by the formula of `update.kind` (tv_optim in
// backend.h). Pointers and n are taken from the segment, everything else from `update`. Slots may
// also be bf16 or f16: the formula computes in f32 and their new values are rounded to the nearest,
// ties to even. Throws Error when the segment has fewer slots than the formula needs, or when other
// tensors are not f32, or not all are on one device, of one shape, and what is changed contiguous.
TRIVET_API void optim_update(const tv_optim& update, OptimizerSegment& segment);

// Copies the elements of `from` into the memory of `to`, which the caller owns; same shape, type
// and device, anything else is an Error. For optimizers whose formula is composed of ops.
TRIVET_API void assign(Tensor& to, const Tensor& from);

// out f32 [1] = sum of squares of the elements of x, which is f32.
TRIVET_API void sum_of_squares(Tensor& out, const Tensor& x);

}  // namespace trivet
