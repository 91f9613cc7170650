// SPDX-License-Identifier: Apache-2.0
// reduce and sumsq. Long sums are cut into pieces of fixed size whose results are added in order,
// so bits depend only on the shape.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/reduce.cpp"
#include <hwy/foreach_target.h>

#include "cpu/support/context.h"
#include "cpu/support/kernels.h"
#include "cpu/support/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

float reduce_run(tv_reduce_op op, std::int64_t n, const float* x) {
  return op == TV_REDUCE_SUM ? row_sum(n, x) : row_max(n, x);
}

// to[j] = fold over n rows of x[., j].
void reduce_rows(tv_reduce_op op, std::int64_t n, std::int64_t inner, const float* x, float* to) {
  const float start = op == TV_REDUCE_SUM ? 0 : -std::numeric_limits<float>::infinity();
  std::fill_n(to, inner, start);
  for (std::int64_t i = 0; i < n; ++i) {
    const float* row = x + i * inner;
    if (op == TV_REDUCE_SUM) {
      map(
          inner, to, [](V s, V v) { return add(s, v); }, static_cast<const float*>(to), row);
    } else {
      map(
          inner, to, [](V s, V v) { return maximum(s, v); }, static_cast<const float*>(to), row);
    }
  }
}

double sumsq_run(std::int64_t n, const float* x) {
  return row_dot(n, x, x);
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {
namespace {

HWY_EXPORT(reduce_run);
HWY_EXPORT(reduce_rows);
HWY_EXPORT(sumsq_run);

struct Extents {
  std::int64_t outer, n, inner;
};

float combine(tv_reduce_op op, float a, float b) {
  if (op == TV_REDUCE_SUM) return a + b;
  return a > b || std::isnan(a) ? a : b;
}

// Pieces of rows so that one piece reads about kGrain elements; their results go to `parts`
// [outer, pieces, inner] and are joined in order.
bool reduce_f32(tv_ctx* ctx, tv_reduce_op op, const Extents& e, const float* x, float* out) {
  const std::int64_t rows = std::max<std::int64_t>(1, kGrain / e.inner);
  const std::int64_t pieces = std::max<std::int64_t>(1, ceil_div(e.n, rows));
  float* parts = pieces == 1 ? out : scratch(ctx, e.outer * pieces * e.inner);
  if (!parts) return false;
  const std::int64_t grain = row_grain(std::min(e.n, rows) * e.inner);
  parallel(ctx, e.outer * pieces, grain, [&](auto begin, auto end, auto) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t first = task % pieces * rows, count = std::min(rows, e.n - first);
      const float* from = x + (task / pieces * e.n + first) * e.inner;
      float* to = parts + task * e.inner;
      if (e.inner == 1) {
        *to = HWY_DYNAMIC_DISPATCH(reduce_run)(op, count, from);
      } else {
        HWY_DYNAMIC_DISPATCH(reduce_rows)(op, count, e.inner, from, to);
      }
    }
  });
  if (pieces == 1) return true;
  for (std::int64_t o = 0; o < e.outer; ++o) {
    for (std::int64_t j = 0; j < e.inner; ++j) {
      const float* from = parts + o * pieces * e.inner + j;
      float total = from[0];
      for (std::int64_t p = 1; p < pieces; ++p) total = combine(op, total, from[p * e.inner]);
      out[o * e.inner + j] = total;
    }
  }
  return true;
}

void argmax(tv_ctx* ctx, const Extents& e, const float* x, std::int32_t* out) {
  parallel(ctx, e.outer * e.inner, row_grain(e.n), [&](auto begin, auto end, auto) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float* from = x + i / e.inner * e.n * e.inner + i % e.inner;
      float largest = -std::numeric_limits<float>::infinity();
      std::int64_t where = e.n > 0 ? 0 : -1;
      for (std::int64_t j = 0; j < e.n; ++j) {
        const float value = from[j * e.inner];
        if (value <= largest) continue;
        if (std::isnan(value) && std::isnan(largest)) continue;
        if (std::isnan(largest)) break;
        largest = value;
        where = j;
      }
      out[i] = static_cast<std::int32_t>(where);
    }
  });
}

}  // namespace

tv_status reduce(tv_ctx* ctx, tv_reduce_op op, const tv_view* out, const tv_view* x) {
  if (!is_f32(*x) || x->rank != 3) return TV_UNSUPPORTED;
  const Extents e{x->shape[0], x->shape[1], x->shape[2]};
  if (op == TV_REDUCE_ARGMAX) {
    if (out->dtype != TV_I32 || e.n > std::numeric_limits<std::int32_t>::max()) {
      return TV_UNSUPPORTED;
    }
    argmax(ctx, e, data<float>(*x), data<std::int32_t>(*out));
    return TV_OK;
  }
  if (!is_f32(*out)) return TV_UNSUPPORTED;
  if (e.outer == 0 || e.inner == 0) return TV_OK;
  return reduce_f32(ctx, op, e, data<float>(*x), data<float>(*out)) ? TV_OK : TV_OUT_OF_MEMORY;
}

tv_status sumsq(tv_ctx* ctx, const tv_view* out, const tv_view* x) {
  if (!is_f32(*x) || !is_f32(*out)) return TV_UNSUPPORTED;
  const std::int64_t n = element_count(*x), pieces = ceil_div(n, kGrain);
  auto* parts = scratch<double>(ctx, pieces);
  if (!parts) return TV_OUT_OF_MEMORY;
  parallel(ctx, n, kGrain, [&](auto begin, auto end, auto) {
    for (std::int64_t at = begin; at < end; at += kGrain) {
      parts[at / kGrain] =
          HWY_DYNAMIC_DISPATCH(sumsq_run)(std::min(kGrain, end - at), data<float>(*x) + at);
    }
  });
  double total = 0;
  for (std::int64_t p = 0; p < pieces; ++p) total += parts[p];
  *data<float>(*out) = static_cast<float>(total);
  return TV_OK;
}

}  // namespace cpu
#endif
