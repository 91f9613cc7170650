// SPDX-License-Identifier: Apache-2.0
// What an FpropContext says about the positions of a sequence, for layers that look at more than
// one.
#pragma once

#include <cstdint>
#include <span>

#include "trivet/layer.h"
#include "trivet/ops.h"

namespace trivet::nn {

// x [B, ..] with row rows[i] as row i, for caches. Throws Error for a row that is not there.
Tensor reordered(const Tensor& x, std::span<const std::int32_t> rows);

// A tensor of the context, if it is made for x [B, T, ..]; undefined otherwise.
Tensor fitting(const Tensor& positions, const Tensor& x);

// The context's positions i32 [B, T] for x [B, T, ..], else first, first + 1, ... in each row.
Tensor positions_of(const Tensor& x, const FpropContext& context, std::int64_t first = 0);

// Segment ids i32 [B, T] with -1 for padding, from ids i32 [B, T] and paddings f32 [B, T], each of
// which may be undefined; without ids they are 0; undefined without either.
Tensor segments_of(const Tensor& ids, const Tensor& paddings);

// AttentionOptions' two from what segments_of gave; where one side has none, its positions are all
// of segment 0.
void set_segments(ops::AttentionOptions& options, const Tensor& q, const Tensor& q_segments,
                  const Tensor& kv, const Tensor& kv_segments);

}  // namespace trivet::nn
