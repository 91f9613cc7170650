// SPDX-License-Identifier: Apache-2.0
// Walks strided views row by row. Axes that are contiguous in every view are merged, the last axis
// becomes the row, and rows (or parts of long ones) are distributed over threads.
#pragma once

#include "cpu/support/context.h"

namespace cpu {

template <int kViews>
struct Walk {
  int rank = 0;
  std::int64_t shape[TV_MAX_RANK] = {};
  std::int64_t stride[kViews][TV_MAX_RANK] = {};
  std::int64_t rows = 1, length = 1;  // length: of the last axis, which rows does not count

  std::int64_t step(int view) const { return rank ? stride[view][rank - 1] : 0; }
};

// Drops axes of extent 1 and merges axis i into i + 1 if every view steps through both as one.
template <int kViews>
Walk<kViews> collapse(const tv_view& first, const tv_view* const (&views)[kViews]) {
  Walk<kViews> w;
  for (int axis = 0; axis < first.rank; ++axis) {
    const std::int64_t extent = first.shape[axis];
    if (extent == 1) continue;
    bool joins = w.rank > 0;
    for (int v = 0; v < kViews && joins; ++v) {
      joins = w.stride[v][w.rank - 1] == views[v]->stride[axis] * extent;
    }
    if (!joins) w.shape[w.rank++] = 1;
    w.shape[w.rank - 1] *= extent;
    for (int v = 0; v < kViews; ++v) w.stride[v][w.rank - 1] = views[v]->stride[axis];
  }
  for (int axis = 0; axis + 1 < w.rank; ++axis) w.rows *= w.shape[axis];
  if (w.rank > 0) w.length = w.shape[w.rank - 1];
  return w;
}

// Calls f(offset per view, count) for runs along the last axis. Runs do not depend on threads.
template <int kViews, typename F>
void for_each_run(tv_ctx* ctx, const Walk<kViews>& w, const F& f) {
  if (w.rows == 0 || w.length == 0) return;
  const std::int64_t parts = ceil_div(w.length, kGrain);
  const std::int64_t grain = parts > 1 ? 1 : row_grain(w.length);
  parallel(ctx, w.rows * parts, grain, [&](std::int64_t begin, std::int64_t end, std::int32_t) {
    for (std::int64_t task = begin; task < end; ++task) {
      std::int64_t row = task / parts;
      const std::int64_t from = task % parts * kGrain;
      std::int64_t offset[kViews];
      for (int v = 0; v < kViews; ++v) offset[v] = from * w.step(v);
      for (int axis = w.rank - 2; axis >= 0; --axis) {
        const std::int64_t index = row % w.shape[axis];
        row /= w.shape[axis];
        for (int v = 0; v < kViews; ++v) offset[v] += index * w.stride[v][axis];
      }
      f(offset, std::min(kGrain, w.length - from));
    }
  });
}

}  // namespace cpu
