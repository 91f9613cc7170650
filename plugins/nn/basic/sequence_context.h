// SPDX-License-Identifier: Apache-2.0
// The positions of a sequence in an FpropContext, for layers that combine positions.
#pragma once

#include <cstdint>
#include <span>

#include "trivet/layer.h"
#include "trivet/ops.h"

namespace trivet::nn {

// Returns x [B, ..] with row rows[i] as row i, for caches. Throws Error for an invalid row.
Tensor reordered(const Tensor& x, std::span<const std::int32_t> rows);

// Returns the rows of x [A, ..], then those of more [B, ..], for caches. Undefined ones have none.
Tensor with_rows(const Tensor& x, const Tensor& more);

// Returns a tensor of the context if it fits x [B, T, ..], else an undefined one.
Tensor fitting(const Tensor& positions, const Tensor& x);

// Returns the context's positions i32 [B, T] for x [B, T, ..], else first, first + 1, ... in each
// row.
Tensor positions_of(const Tensor& x, const FpropContext& context, std::int64_t first = 0);

// Segment ids i32 [B, T] with -1 for padding, from ids i32 [B, T] and paddings f32 [B, T], each of
// which may be undefined; without ids they are 0; undefined without either.
Tensor segments_of(const Tensor& ids, const Tensor& paddings);

// Sets the segments of AttentionOptions from results of segments_of. If one side has none, all its
// positions are in segment 0.
void set_segments(ops::AttentionOptions& options, const Tensor& q, const Tensor& q_segments,
                  const Tensor& kv, const Tensor& kv_segments);

}  // namespace trivet::nn
