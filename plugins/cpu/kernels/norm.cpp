// SPDX-License-Identifier: Apache-2.0
// norm_fwd and norm_bwd: layer norm and RMS norm, row by row.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/norm.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "cpu/support/context.h"
#include "cpu/support/kernels.h"
#include "cpu/support/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

void add_row(std::int64_t n, const float* a, const float* b, float* out) {
  map(n, out, add, a, b);
}

float mean_of_row(std::int64_t n, const float* x) {
  return row_sum(n, x) / static_cast<float>(n);
}

// The mean of squares about `mean`.
float power_of_row(std::int64_t n, const float* x, float mean) {
  const V center = set(mean);
  const auto square = [=](V s, V v) {
    const V d = hn::Sub(v, center);
    return hn::MulAdd(d, d, s);
  };
  return lane_sum(fold(n, 0, mean, square, add, x)) / static_cast<float>(n);
}

// y = (x - mean) rstd gamma + beta, in place if wanted; gamma and beta may be null.
void normalize_row(std::int64_t n, const float* x, float mean, float rstd, const float* gamma,
                   const float* beta, float* y) {
  const V m = set(mean), r = set(rstd);
  const auto unit = [=](V v) { return hn::Mul(hn::Sub(v, m), r); };
  if (gamma && beta) {
    map(
        n, y, [=](V v, V g, V b) { return hn::MulAdd(unit(v), g, b); }, x, gamma, beta);
  } else if (gamma) {
    map(
        n, y, [=](V v, V g) { return hn::Mul(unit(v), g); }, x, gamma);
  } else if (beta) {
    map(
        n, y, [=](V v, V b) { return add(unit(v), b); }, x, beta);
  } else {
    map(n, y, unit, x);
  }
}

// sums += dy; products += dy x^, x^ = (x - mean) rstd. Either may be null.
void add_parameter_gradients(std::int64_t n, const float* x, const float* dy, float mean,
                             float rstd, float* products, float* sums) {
  const V m = set(mean), r = set(rstd);
  const float *product = products, *sum = sums;
  if (products) {
    map(
        n, products, [=](V p, V d, V v) { return hn::MulAdd(d, hn::Mul(hn::Sub(v, m), r), p); },
        product, dy, x);
  }
  if (sums) map(n, sums, add, sum, dy);
}

// dx = rstd (g - mean(g) - x^ mean(g x^)), g = dy gamma; without mean(g) where it is not centered.
template <typename G, typename... In>
HWY_INLINE void row_gradient(std::int64_t n, bool centered, float mean, float rstd, float* dx,
                             const G& gradient, const In*... in) {
  const V m = set(mean), r = set(rstd);
  const auto unit = [=](V v) { return hn::Mul(hn::Sub(v, m), r); };
  const float share = 1 / static_cast<float>(n);
  const auto sum = [=](V s, V, auto... g) { return add(s, gradient(g...)); };
  const auto product = [=](V s, V v, auto... g) { return hn::MulAdd(gradient(g...), unit(v), s); };
  const V g_mean = set(centered ? lane_sum(fold(n, 0, 0, sum, add, in...)) * share : 0);
  const V along = set(lane_sum(fold(n, 0, 0, product, add, in...)) * share);
  map(
      n, dx,
      [=](V v, auto... g) {
        const V rest = hn::NegMulAdd(unit(v), along, hn::Sub(gradient(g...), g_mean));
        return hn::Mul(rest, r);
      },
      in...);
}

void norm_gradient_row(std::int64_t n, bool centered, const float* x, const float* gamma,
                       const float* dy, float mean, float rstd, float* dx) {
  if (gamma) {
    row_gradient(
        n, centered, mean, rstd, dx, [](V d, V g) { return hn::Mul(d, g); }, x, dy, gamma);
  } else {
    row_gradient(
        n, centered, mean, rstd, dx, [](V d) { return d; }, x, dy);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {
namespace {

HWY_EXPORT(add_row);
HWY_EXPORT(mean_of_row);
HWY_EXPORT(power_of_row);
HWY_EXPORT(normalize_row);
HWY_EXPORT(add_parameter_gradients);
HWY_EXPORT(norm_gradient_row);

const float* floats(const void* p) {
  return static_cast<const float*>(p);
}
float* floats(void* p) {
  return static_cast<float*>(p);
}

void forward_row(const tv_norm& d, std::int64_t r) {
  const std::int64_t n = d.n, at = r * n;
  const bool centered = d.kind == TV_LAYER_NORM;
  float* y = floats(d.y) + at;
  const float* s = floats(d.x) + at;
  if (d.residual) {
    float* sum = d.sum ? floats(d.sum) + at : y;
    HWY_DYNAMIC_DISPATCH(add_row)(n, s, floats(d.residual) + at, sum);
    s = sum;
  } else if (d.sum) {
    std::copy_n(s, n, floats(d.sum) + at);
  }
  const float mean = centered ? HWY_DYNAMIC_DISPATCH(mean_of_row)(n, s) : 0;
  const float power = HWY_DYNAMIC_DISPATCH(power_of_row)(n, s, mean);
  const float rstd = 1 / std::sqrt(power + d.epsilon);
  if (centered) d.mean[r] = mean;
  d.rstd[r] = rstd;
  HWY_DYNAMIC_DISPATCH(normalize_row)
  (n, s, mean, rstd, floats(d.gamma), centered ? floats(d.beta) : nullptr, y);
}

// out = beta out + the sum over the pieces of `parts` [pieces, n].
void join(const float* parts, std::int64_t pieces, std::int64_t n, float beta, float* out) {
  if (!out) return;
  for (std::int64_t j = 0; j < n; ++j) {
    float total = 0;
    for (std::int64_t p = 0; p < pieces; ++p) total += parts[p * n + j];
    out[j] = beta == 0 ? total : out[j] + total;
  }
}

}  // namespace

tv_status norm_fwd(tv_ctx* ctx, const tv_norm* d) {
  if (d->dtype != TV_F32 || d->kind > TV_RMS_NORM) return TV_UNSUPPORTED;
  if (d->n == 0) return TV_OK;
  parallel(ctx, d->rows, row_grain(d->n), [&](auto begin, auto end, auto) {
    for (auto r = begin; r < end; ++r) forward_row(*d, r);
  });
  return TV_OK;
}

tv_status norm_bwd(tv_ctx* ctx, const tv_norm_grad* d) {
  if (d->dtype != TV_F32 || d->kind > TV_RMS_NORM) return TV_UNSUPPORTED;
  const std::int64_t n = d->n, piece = row_grain(n), pieces = ceil_div(d->rows, piece);
  if (n == 0) return TV_OK;
  const bool centered = d->kind == TV_LAYER_NORM;
  float* products = d->dgamma ? scratch(ctx, pieces * n) : nullptr;
  float* sums = d->dbeta ? scratch(ctx, pieces * n) : nullptr;
  if ((d->dgamma && !products) || (d->dbeta && !sums)) return TV_OUT_OF_MEMORY;
  parallel(ctx, pieces, 1, [&](std::int64_t begin, std::int64_t end, std::int32_t) {
    for (std::int64_t p = begin; p < end; ++p) {
      float *product = products ? products + p * n : nullptr, *sum = sums ? sums + p * n : nullptr;
      if (product) std::fill_n(product, n, 0.0f);
      if (sum) std::fill_n(sum, n, 0.0f);
      for (std::int64_t r = p * piece; r < std::min(d->rows, (p + 1) * piece); ++r) {
        const float *x = floats(d->x) + r * n, *dy = floats(d->dy) + r * n;
        const float mean = centered ? d->mean[r] : 0, rstd = d->rstd[r];
        HWY_DYNAMIC_DISPATCH(add_parameter_gradients)(n, x, dy, mean, rstd, product, sum);
        HWY_DYNAMIC_DISPATCH(norm_gradient_row)
        (n, centered, x, floats(d->gamma), dy, mean, rstd, floats(d->dx) + r * n);
      }
    }
  });
  join(products, pieces, n, d->beta_dgamma, floats(d->dgamma));
  join(sums, pieces, n, d->beta_dbeta, floats(d->dbeta));
  return TV_OK;
}

}  // namespace cpu
#endif
