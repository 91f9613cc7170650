// SPDX-License-Identifier: Apache-2.0
// unary, binary and select.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/elementwise.cpp"
#include <hwy/foreach_target.h>

#include "cpu/support/context.h"
#include "cpu/support/kernels.h"
#include "cpu/support/simd-inl.h"
#include "cpu/support/walk.h"

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

void unary_run(tv_unary_op op, std::int64_t n, float* out, const float* x) {
  switch (op) {
    case TV_NEG:
      return map(
          n, out, [](V v) { return hn::Neg(v); }, x);
    case TV_ABS:
      return map(
          n, out, [](V v) { return hn::Abs(v); }, x);
    case TV_EXP:
      return map(
          n, out, [](V v) { return exp(v); }, x);
    case TV_LOG:
      return map(
          n, out, [](V v) { return log(v); }, x);
    case TV_SQRT:
      return map(
          n, out, [](V v) { return hn::Sqrt(v); }, x);
    case TV_RSQRT:
      return map(
          n, out, [](V v) { return hn::Div(set(1), hn::Sqrt(v)); }, x);
    case TV_TANH:
      return map(
          n, out, [](V v) { return tanh(v); }, x);
    case TV_SIGMOID:
      return map(
          n, out, [](V v) { return sigmoid(v); }, x);
    case TV_SIN:
      return map(
          n, out, [](V v) { return sin(v); }, x);
    case TV_COS:
      return map(
          n, out, [](V v) { return cos(v); }, x);
    case TV_FLOOR:
      return map(
          n, out, [](V v) { return hn::Floor(v); }, x);
  }
}

// Operands have step 1 or 0; the plain loop below handles all others.
template <typename F>
void binary_lanes(std::int64_t n, float* out, const float* a, std::int64_t step_a, const float* b,
                  std::int64_t step_b, F f) {
  if (step_a && step_b) return map(n, out, f, a, b);
  if (step_b) {
    const V left = set(*a);
    return map(
        n, out, [=](V right) { return f(left, right); }, b);
  }
  const V right = set(*b);
  if (step_a) {
    return map(
        n, out, [=](V left) { return f(left, right); }, a);
  }
  const float value = hn::GetLane(f(set(*a), right));
  std::fill_n(out, n, value);
}

void binary_run(tv_binary_op op, std::int64_t n, float* out, const float* a, std::int64_t step_a,
                const float* b, std::int64_t step_b) {
  const auto run = [&](auto f) { binary_lanes(n, out, a, step_a, b, step_b, f); };
  switch (op) {
    case TV_ADD:
      return run([](V x, V y) { return hn::Add(x, y); });
    case TV_SUB:
      return run([](V x, V y) { return hn::Sub(x, y); });
    case TV_MUL:
      return run([](V x, V y) { return hn::Mul(x, y); });
    case TV_DIV:
      return run([](V x, V y) { return hn::Div(x, y); });
    case TV_MAX:
      return run([](V x, V y) { return maximum(x, y); });
    case TV_MIN:
      return run([](V x, V y) { return minimum(x, y); });
    default:
      return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {
namespace {

HWY_EXPORT(unary_run);
HWY_EXPORT(binary_run);

float apply(tv_binary_op op, float a, float b) {
  switch (op) {
    case TV_ADD:
      return a + b;
    case TV_SUB:
      return a - b;
    case TV_MUL:
      return a * b;
    case TV_DIV:
      return a / b;
    case TV_MAX:
      return a > b || std::isnan(a) ? a : b;
    case TV_MIN:
      return a < b || std::isnan(a) ? a : b;
    default:
      return std::pow(a, b);
  }
}

std::int32_t apply(tv_binary_op op, std::int32_t a, std::int32_t b) {
  const auto ua = static_cast<std::uint32_t>(a), ub = static_cast<std::uint32_t>(b);
  switch (op) {
    case TV_ADD:
      return static_cast<std::int32_t>(ua + ub);
    case TV_SUB:
      return static_cast<std::int32_t>(ua - ub);
    case TV_MUL:
      return static_cast<std::int32_t>(ua * ub);
    case TV_MAX:
      return std::max(a, b);
    default:
      return std::min(a, b);
  }
}

template <typename T>
void compute_run(tv_binary_op op, std::int64_t n, T* out, const T* a, std::int64_t step_a,
                 const T* b, std::int64_t step_b) {
  if constexpr (std::is_same_v<T, float>) {
    const bool plain_steps = (step_a | step_b | 1) == 1;
    if (plain_steps && op != TV_POW) {
      return HWY_DYNAMIC_DISPATCH(binary_run)(op, n, out, a, step_a, b, step_b);
    }
  }
  for (std::int64_t i = 0; i < n; ++i) out[i] = apply(op, a[i * step_a], b[i * step_b]);
}

template <typename T>
void compare_run(tv_binary_op op, std::int64_t n, std::uint8_t* out, const T* a,
                 std::int64_t step_a, const T* b, std::int64_t step_b) {
  if (op == TV_LT) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = a[i * step_a] < b[i * step_b];
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i] = a[i * step_a] == b[i * step_b];
  }
}

template <typename T>
tv_status binary_of(tv_ctx* ctx, tv_binary_op op, const tv_view& out, const tv_view& a,
                    const tv_view& b) {
  const bool compares = op == TV_LT || op == TV_EQ;
  const int out_dtype = compares ? static_cast<int>(TV_BOOL) : a.dtype;
  if (out.dtype != out_dtype) return TV_UNSUPPORTED;
  const auto w = collapse<3>(out, {&out, &a, &b});
  for_each_run(ctx, w, [&](const std::int64_t* offset, std::int64_t n) {
    const T *from_a = data<T>(a) + offset[1], *from_b = data<T>(b) + offset[2];
    if (compares) {
      compare_run(op, n, data<std::uint8_t>(out) + offset[0], from_a, w.step(1), from_b, w.step(2));
    } else {
      compute_run(op, n, data<T>(out) + offset[0], from_a, w.step(1), from_b, w.step(2));
    }
  });
  return TV_OK;
}

template <typename T>
void select_of(tv_ctx* ctx, const tv_view& out, const tv_view& cond, const tv_view& a,
               const tv_view& b) {
  const auto w = collapse<4>(out, {&out, &cond, &a, &b});
  for_each_run(ctx, w, [&](const std::int64_t* offset, std::int64_t n) {
    T* to = data<T>(out) + offset[0];
    const auto* which = data<std::uint8_t>(cond) + offset[1];
    const T *first = data<T>(a) + offset[2], *second = data<T>(b) + offset[3];
    const std::int64_t sc = w.step(1), sa = w.step(2), sb = w.step(3);
    for (std::int64_t i = 0; i < n; ++i) to[i] = which[i * sc] ? first[i * sa] : second[i * sb];
  });
}

}  // namespace

tv_status unary(tv_ctx* ctx, tv_unary_op op, const tv_view* out, const tv_view* x) {
  if (!is_f32(*x) || !is_f32(*out) || op < TV_NEG || op > TV_FLOOR) return TV_UNSUPPORTED;
  parallel(ctx, element_count(*x), kGrain, [&](auto begin, auto end, auto) {
    HWY_DYNAMIC_DISPATCH(unary_run)
    (op, end - begin, data<float>(*out) + begin, data<float>(*x) + begin);
  });
  return TV_OK;
}

tv_status binary(tv_ctx* ctx, tv_binary_op op, const tv_view* out, const tv_view* a,
                 const tv_view* b) {
  if (a->dtype != b->dtype || op < TV_ADD || op > TV_EQ) return TV_UNSUPPORTED;
  if (is_f32(*a)) return binary_of<float>(ctx, op, *out, *a, *b);
  const bool takes_integers = op != TV_DIV && op != TV_POW;
  if (a->dtype != TV_I32 || !takes_integers) return TV_UNSUPPORTED;
  return binary_of<std::int32_t>(ctx, op, *out, *a, *b);
}

tv_status select(tv_ctx* ctx, const tv_view* out, const tv_view* cond, const tv_view* a,
                 const tv_view* b) {
  if (cond->dtype != TV_BOOL || a->dtype != out->dtype || b->dtype != out->dtype) {
    return TV_UNSUPPORTED;
  }
  const std::size_t size = dtype_size(out->dtype);
  if (size == 4) select_of<std::uint32_t>(ctx, *out, *cond, *a, *b);
  if (size == 2) select_of<std::uint16_t>(ctx, *out, *cond, *a, *b);
  if (size == 1) select_of<std::uint8_t>(ctx, *out, *cond, *a, *b);
  return TV_OK;
}

}  // namespace cpu
#endif
