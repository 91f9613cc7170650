// SPDX-License-Identifier: Apache-2.0
// batch_norm_fwd and batch_norm_bwd, along channels with vectors.
//
// Rows are cut into pieces that stay in the cache. Each piece's moments are computed about its own
// mean in two walks over it and joined in double precision (Chan, Golub and LeVeque 1983): as exact
// as two passes over the memory, for the cost of one.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/batch_norm.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "cpu/support/context.h"
#include "cpu/support/kernels.h"
#include "cpu/support/simd-inl.h"

#ifndef TRIVET_CPU_BATCH_NORM_SUMS
#define TRIVET_CPU_BATCH_NORM_SUMS
namespace cpu {

// A walk over `count` rows of n channels. Null pointers are skipped.
struct NormRows {
  std::int64_t count, n;
  const float *x, *y, *dy;  // y: if the activation is relu
};

// Per channel.
struct NormScale {
  const float *mean, *factor, *shift;  // y = (x - mean) factor + shift
};
struct NormGradient {
  const float *mean, *factor, *dy_mean, *slope;  // dx = factor (g - dy_mean - (x - mean) slope)
};

}  // namespace cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

// Calls f(channel, load, store) for each vector of channels; the last one may be partial.
template <typename F>
HWY_INLINE void for_channels(std::int64_t n, const F& f) {
  const std::int64_t step = static_cast<std::int64_t>(lanes());
  std::int64_t c = 0;
  for (; c + step <= n; c += step) {
    f(
        c, [](const float* from) { return load(from); }, [](V v, float* to) { store(v, to); });
  }
  if (c == n) return;
  const auto rest = static_cast<std::size_t>(n - c);
  f(
      c, [=](const float* from) { return load_part(from, rest); },
      [=](V v, float* to) { store_part(v, to, rest); });
}

// Adds term(row) over all rows in four chains, which hides the latency.
template <typename F>
HWY_INLINE V sum_rows(std::int64_t count, const F& term) {
  V s0 = set(0), s1 = s0, s2 = s0, s3 = s0;
  std::int64_t r = 0;
  for (; r + 4 <= count; r += 4) {
    s0 = add(s0, term(r));
    s1 = add(s1, term(r + 1));
    s2 = add(s2, term(r + 2));
    s3 = add(s3, term(r + 3));
  }
  for (; r < count; ++r) s0 = add(s0, term(r));
  return add(add(s0, s1), add(s2, s3));
}

// The mean of each channel, and the sum of squares about it.
void piece_moments(const NormRows& rows, float* mean, float* squares) {
  const V share = set(1.0f / static_cast<float>(rows.count));
  for_channels(rows.n, [&](std::int64_t c, auto get, auto put) {
    const auto at = [&](std::int64_t r) { return get(rows.x + r * rows.n + c); };
    const V first = at(0);  // sums of differences stay small where the mean is large
    const auto apart = [&](std::int64_t r) { return hn::Sub(at(r), first); };
    const V center = hn::MulAdd(sum_rows(rows.count, apart), share, first);
    put(center, mean + c);
    const auto square = [&](std::int64_t r) {
      const V d = hn::Sub(at(r), center);
      return hn::Mul(d, d);
    };
    put(sum_rows(rows.count, square), squares + c);
  });
}

void normalize_rows(const NormRows& rows, const NormScale& scale, bool relu, float* out) {
  for_channels(rows.n, [&](std::int64_t c, auto get, auto put) {
    const V mean = get(scale.mean + c), factor = get(scale.factor + c);
    const V shift = get(scale.shift + c);
    for (std::int64_t r = 0; r < rows.count; ++r) {
      const V v = hn::MulAdd(hn::Sub(get(rows.x + r * rows.n + c), mean), factor, shift);
      // NaN is not below 0, so it passes.
      put(relu ? hn::IfThenZeroElse(hn::Lt(v, set(0)), v) : v, out + r * rows.n + c);
    }
  });
}

// dy before the activation: 0 where the unit is off.
template <typename Get>
HWY_INLINE V gradient_at(const NormRows& rows, std::int64_t at, Get get) {
  const V g = get(rows.dy + at);
  if (!rows.y) return g;
  return hn::IfThenZeroElse(hn::Le(get(rows.y + at), set(0)), g);
}

// Sums g and g (x - mean) for each channel.
void piece_gradients(const NormRows& rows, const float* mean, float* sums, float* products) {
  for_channels(rows.n, [&](std::int64_t c, auto get, auto put) {
    const V center = get(mean + c);
    V s0 = set(0), s1 = s0, p0 = s0, p1 = s0;
    const auto walk = [&](std::int64_t r, V& s, V& p) {
      const std::int64_t at = r * rows.n + c;
      const V g = gradient_at(rows, at, get);
      s = add(s, g);
      p = hn::MulAdd(g, hn::Sub(get(rows.x + at), center), p);
    };
    std::int64_t r = 0;
    for (; r + 2 <= rows.count; r += 2) {
      walk(r, s0, p0);
      walk(r + 1, s1, p1);
    }
    if (r < rows.count) walk(r, s0, p0);
    put(add(s0, s1), sums + c);
    put(add(p0, p1), products + c);
  });
}

void gradient_rows(const NormRows& rows, const NormGradient& k, float* dx) {
  for_channels(rows.n, [&](std::int64_t c, auto get, auto put) {
    const V mean = get(k.mean + c), factor = get(k.factor + c);
    const V dy_mean = get(k.dy_mean + c), slope = get(k.slope + c);
    for (std::int64_t r = 0; r < rows.count; ++r) {
      const std::int64_t at = r * rows.n + c;
      const V g = hn::Sub(gradient_at(rows, at, get), dy_mean);
      const V along = hn::Mul(hn::Sub(get(rows.x + at), mean), slope);
      put(hn::Mul(hn::Sub(g, along), factor), dx + at);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {
namespace {

HWY_EXPORT(piece_moments);
HWY_EXPORT(normalize_rows);
HWY_EXPORT(piece_gradients);
HWY_EXPORT(gradient_rows);

// Two arrays [pieces, n]; every piece fills one row of each.
struct Parts {
  std::int64_t rows, n, piece, pieces;
  float *first, *second;

  Parts(tv_ctx* ctx, std::int64_t all, std::int64_t channels)
      : rows(all),
        n(channels),
        piece(row_grain(channels)),
        pieces(ceil_div(all, piece)),
        first(scratch(ctx, pieces * channels)),
        second(scratch(ctx, pieces * channels)) {}
  std::int64_t count(std::int64_t p) const { return std::min(piece, rows - p * piece); }
};

// Calls f(first row, rows, piece) for all pieces of `parts`.
template <typename F>
void for_pieces(tv_ctx* ctx, const Parts& parts, const F& f) {
  parallel(ctx, parts.pieces, 1, [&](std::int64_t begin, std::int64_t end, std::int32_t) {
    for (std::int64_t p = begin; p < end; ++p) f(p * parts.piece, parts.count(p), p);
  });
}

template <typename T>
T* advance(T* from, std::int64_t by) {
  return from ? from + by : nullptr;
}

template <typename D>
bool supports(const D& d) {
  return d.dtype == TV_F32 && (d.activation == TV_ACT_NONE || d.activation == TV_ACT_RELU);
}

void join_moments(const Parts& parts, std::int64_t channel, float& mean, float& variance) {
  const auto rows = static_cast<double>(parts.rows);
  double sum = 0, squares = 0;
  for (std::int64_t p = 0; p < parts.pieces; ++p) {
    sum += static_cast<double>(parts.first[p * parts.n + channel]) *
           static_cast<double>(parts.count(p));
  }
  const double center = parts.rows > 0 ? sum / rows : 0;
  for (std::int64_t p = 0; p < parts.pieces; ++p) {
    const double apart = static_cast<double>(parts.first[p * parts.n + channel]) - center;
    squares += static_cast<double>(parts.second[p * parts.n + channel]) +
               apart * apart * static_cast<double>(parts.count(p));
  }
  mean = static_cast<float>(center);
  variance = static_cast<float>(parts.rows > 0 ? squares / rows : 0);
}

double total_of(const Parts& parts, const float* of, std::int64_t channel) {
  double total = 0;
  for (std::int64_t p = 0; p < parts.pieces; ++p) {
    total += static_cast<double>(of[p * parts.n + channel]);
  }
  return total;
}

float rstd_of(float variance, float epsilon) {
  return 1 / std::sqrt(variance + epsilon);
}

void accumulate(void* to, std::int64_t at, float beta, double value) {
  if (!to) return;
  float& sum = static_cast<float*>(to)[at];
  sum = static_cast<float>(value) + (beta == 0 ? 0 : sum);
}

}  // namespace

tv_status batch_norm_fwd(tv_ctx* ctx, const tv_batch_norm* d) {
  if (!supports(*d)) return TV_UNSUPPORTED;
  const std::int64_t n = d->n;
  if (n == 0) return TV_OK;
  const auto *x = static_cast<const float*>(d->x), *gamma = static_cast<const float*>(d->gamma),
             *beta = static_cast<const float*>(d->beta);
  auto* y = static_cast<float*>(d->y);
  const Parts parts(ctx, d->rows, n);
  float *factor = scratch(ctx, n), *shift = scratch(ctx, n);
  if (!parts.first || !parts.second || !factor || !shift) return TV_OUT_OF_MEMORY;
  for_pieces(ctx, parts, [&](std::int64_t row, std::int64_t count, std::int64_t p) {
    HWY_DYNAMIC_DISPATCH(piece_moments)
    ({count, n, x + row * n, nullptr, nullptr}, parts.first + p * n, parts.second + p * n);
  });
  for (std::int64_t c = 0; c < n; ++c) {
    join_moments(parts, c, d->mean[c], d->variance[c]);
    factor[c] = rstd_of(d->variance[c], d->epsilon) * (gamma ? gamma[c] : 1);
    shift[c] = beta ? beta[c] : 0;
  }
  for_pieces(ctx, parts, [&](std::int64_t row, std::int64_t count, std::int64_t) {
    HWY_DYNAMIC_DISPATCH(normalize_rows)
    ({count, n, x + row * n, nullptr, nullptr}, {d->mean, factor, shift},
     d->activation == TV_ACT_RELU, y + row * n);
  });
  return TV_OK;
}

tv_status batch_norm_bwd(tv_ctx* ctx, const tv_batch_norm_grad* d) {
  if (!supports(*d)) return TV_UNSUPPORTED;
  const std::int64_t n = d->n;
  if (n == 0) return TV_OK;
  const auto *x = static_cast<const float*>(d->x), *dy = static_cast<const float*>(d->dy),
             *gamma = static_cast<const float*>(d->gamma),
             *y = d->activation == TV_ACT_RELU ? static_cast<const float*>(d->y) : nullptr;
  const Parts parts(ctx, d->rows, n);
  float *factor = scratch(ctx, n), *dy_mean = scratch(ctx, n), *slope = scratch(ctx, n);
  if (!parts.first || !parts.second || !factor || !dy_mean || !slope) return TV_OUT_OF_MEMORY;
  const auto rows_at = [&](std::int64_t row, std::int64_t count) {
    return NormRows{count, n, x + row * n, advance(y, row * n), dy + row * n};
  };
  for_pieces(ctx, parts, [&](std::int64_t row, std::int64_t count, std::int64_t p) {
    HWY_DYNAMIC_DISPATCH(piece_gradients)
    (rows_at(row, count), d->mean, parts.first + p * n, parts.second + p * n);
  });
  const double share = d->rows > 0 ? 1 / static_cast<double>(d->rows) : 0;
  for (std::int64_t c = 0; c < n; ++c) {
    const float rstd = rstd_of(d->variance[c], d->epsilon);
    const double sum = total_of(parts, parts.first, c), along = total_of(parts, parts.second, c);
    accumulate(d->dbeta, c, d->beta_dbeta, sum);
    accumulate(d->dgamma, c, d->beta_dgamma, along * static_cast<double>(rstd));
    factor[c] = rstd * (gamma ? gamma[c] : 1);
    dy_mean[c] = static_cast<float>(sum * share);
    slope[c] = static_cast<float>(along * share * static_cast<double>(rstd * rstd));
  }
  auto* dx = static_cast<float*>(d->dx);
  if (!dx) return TV_OK;
  for_pieces(ctx, parts, [&](std::int64_t row, std::int64_t count, std::int64_t) {
    HWY_DYNAMIC_DISPATCH(gradient_rows)
    (rows_at(row, count), {d->mean, factor, dy_mean, slope}, dx + row * n);
  });
  return TV_OK;
}

}  // namespace cpu
#endif
