// SPDX-License-Identifier: Apache-2.0
// Vector helpers, compiled once per instruction set: loops with tails, and elementary functions
// that handle NaN and infinities, which Highway's do not. No #pragma once: <hwy/foreach_target.h>
// includes the including file several times.

#if defined(TRIVET_CPU_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIVET_CPU_SIMD_INL_H
#undef TRIVET_CPU_SIMD_INL_H
#else
#define TRIVET_CPU_SIMD_INL_H
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

// After the parameters of a lambda that must not become a function of its own: what it captures
// would leave the registers.
#ifndef TRIVET_CPU_INLINE
#define TRIVET_CPU_INLINE HWY_ATTR __attribute__((always_inline))
#endif

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using F32 = hn::ScalableTag<float>;
using V = hn::Vec<F32>;
inline constexpr std::size_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);

HWY_INLINE std::size_t lanes() {
  return hn::Lanes(F32());
}
HWY_INLINE V set(float x) {
  return hn::Set(F32(), x);
}
HWY_INLINE V load(const float* from) {
  return hn::LoadU(F32(), from);
}
HWY_INLINE void store(V v, float* to) {
  hn::StoreU(v, F32(), to);
}

// Rows of a tile of products whose sums, two vectors a row, stay in registers beside 2 vectors of
// one factor and 1 broadcast of the other. AVX-512 has 32 registers.
#if HWY_TARGET <= HWY_AVX3
inline constexpr int kRows = 12;
#else
inline constexpr int kRows = 6;
#endif

inline constexpr std::int64_t kLanes = hn::MaxLanes(F32());
inline constexpr std::int64_t kColumns = 2 * kLanes;  // of such a tile

// Calls f(0), f(1), ... unrolled, so that arrays indexed by r become registers with any compiler.
template <typename F, std::size_t... kIndex>
HWY_INLINE void unrolled(const F& f, std::index_sequence<kIndex...>) {
  (f(kIndex), ...);
}
template <int kCount, typename F>
HWY_INLINE void unrolled(const F& f) {
  unrolled(f, std::make_index_sequence<kCount>());
}

// The first n < lanes() elements; the rest is `fill`.
HWY_INLINE V load_part(const float* from, std::size_t n, float fill = 0) {
  HWY_ALIGN float buffer[kMaxLanes];
  hn::Store(set(fill), F32(), buffer);
  for (std::size_t i = 0; i < n; ++i) buffer[i] = from[i];
  return hn::Load(F32(), buffer);
}

HWY_INLINE void store_part(V v, float* to, std::size_t n) {
  HWY_ALIGN float buffer[kMaxLanes];
  hn::Store(v, F32(), buffer);
  for (std::size_t i = 0; i < n; ++i) to[i] = buffer[i];
}

// out[i] = f(in[i]...), any lengths; an input may be `out` itself.
template <typename F, typename... In>
HWY_INLINE void map(std::int64_t count, float* out, F f, const In*... in) {
  const auto n = static_cast<std::size_t>(count), step = lanes();
  std::size_t i = 0;
  for (; i + step <= n; i += step) store(f(load(in + i)...), out + i);
  if (i < n) store_part(f(load_part(in + i, n - i, 1)...), out + i, n - i);
}

// Folds with f(fold, x...) in four chains, which hides the latency, and joins them with g. The
// order depends only on n and the vector size. `fill` replaces missing lanes of the tail.
template <typename F, typename G, typename... In>
HWY_INLINE V fold(std::int64_t count, float start, float fill, F f, G g, const In*... in) {
  const auto n = static_cast<std::size_t>(count), step = lanes();
  V s0 = set(start), s1 = s0, s2 = s0, s3 = s0;
  std::size_t i = 0;
  for (; i + 4 * step <= n; i += 4 * step) {
    s0 = f(s0, load(in + i)...);
    s1 = f(s1, load(in + i + step)...);
    s2 = f(s2, load(in + i + 2 * step)...);
    s3 = f(s3, load(in + i + 3 * step)...);
  }
  for (; i + step <= n; i += step) s0 = f(s0, load(in + i)...);
  if (i < n) s1 = f(s1, load_part(in + i, n - i, fill)...);
  return g(g(s0, s1), g(s2, s3));
}

HWY_INLINE V add(V a, V b) {
  return hn::Add(a, b);
}
HWY_INLINE V nan_or(V x, V y) {
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}  // x if NaN, else y

// Returns NaN if either side is NaN.
HWY_INLINE V maximum(V a, V b) {
  return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
}
HWY_INLINE V minimum(V a, V b) {
  return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
}

HWY_INLINE float lane_sum(V v) {
  return hn::GetLane(hn::SumOfLanes(F32(), v));
}
HWY_INLINE float lane_max(V v) {
  HWY_ALIGN float buffer[kMaxLanes];
  hn::Store(v, F32(), buffer);
  float most = buffer[0];
  for (std::size_t i = 1; i < lanes(); ++i) {
    if (!(most > buffer[i] || std::isnan(most))) most = buffer[i];
  }
  return most;
}

HWY_INLINE float row_sum(std::int64_t n, const float* x) {
  return lane_sum(fold(
      n, 0, 0, [](V s, V v) { return add(s, v); }, add, x));
}
HWY_INLINE float row_max(std::int64_t n, const float* x) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  return lane_max(fold(
      n, kLowest, kLowest, [](V s, V v) { return maximum(s, v); }, maximum, x));
}
HWY_INLINE float row_dot(std::int64_t n, const float* x, const float* y) {
  const auto multiply_add = [](V s, V a, V b) { return hn::MulAdd(a, b, s); };
  return lane_sum(fold(n, 0, 0, multiply_add, add, x, y));
}

// Highway's functions support finite arguments of a limited range; these support all.
HWY_INLINE V exp(V x) {
  return nan_or(x, hn::Exp(F32(), hn::Min(x, set(105.0f))));
}

HWY_INLINE V log(V x) {
  const V infinity = set(std::numeric_limits<float>::infinity());
  V y = hn::Log(F32(), x);
  y = hn::IfThenElse(hn::Eq(x, set(0)), hn::Neg(infinity), y);
  y = hn::IfThenElse(hn::Eq(x, infinity), infinity, y);
  y = hn::IfThenElse(hn::Lt(x, set(0)), set(std::numeric_limits<float>::quiet_NaN()), y);
  return nan_or(x, y);
}

HWY_INLINE V tanh(V x) {
  const V inside = hn::Max(hn::Min(x, set(20.0f)), set(-20.0f));  // tanh(20) rounds to 1
  return nan_or(x, hn::Tanh(F32(), inside));
}

HWY_INLINE V sigmoid(V x) {
  return hn::Div(set(1), hn::Add(set(1), exp(hn::Neg(x))));
}

// Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: absolute error below 1.5e-7.
HWY_INLINE V erf(V x) {
  const V a = hn::Abs(x);
  const V t = hn::Div(set(1), hn::MulAdd(set(0.3275911f), a, set(1)));
  V p = hn::MulAdd(set(1.061405429f), t, set(-1.453152027f));
  p = hn::MulAdd(p, t, set(1.421413741f));
  p = hn::MulAdd(p, t, set(-0.284496736f));
  p = hn::MulAdd(p, t, set(0.254829592f));
  const V y = hn::NegMulAdd(hn::Mul(p, t), exp(hn::Neg(hn::Mul(a, a))), set(1));
  return hn::CopySign(y, x);
}

// Highway reduces the angle accurately up to 39000; larger angles (and NaN) use the C library.
template <typename Fast, typename Slow>
HWY_INLINE V angle(V x, Fast fast, Slow slow) {
  if (hn::AllTrue(F32(), hn::Le(hn::Abs(x), set(39000.0f)))) return fast(x);
  HWY_ALIGN float buffer[kMaxLanes];
  hn::Store(x, F32(), buffer);
  for (std::size_t i = 0; i < lanes(); ++i) buffer[i] = slow(buffer[i]);
  return hn::Load(F32(), buffer);
}
HWY_INLINE V sin(V x) {
  return angle(
      x, [](V v) { return hn::Sin(F32(), v); }, [](float v) { return std::sin(v); });
}
HWY_INLINE V cos(V x) {
  return angle(
      x, [](V v) { return hn::Cos(F32(), v); }, [](float v) { return std::cos(v); });
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#endif
