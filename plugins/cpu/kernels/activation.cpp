// SPDX-License-Identifier: Apache-2.0
// act_fwd, act_bwd, and the activation parts of the linear and convolution kernels.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/activation.cpp"
#include <hwy/foreach_target.h>

#include "cpu/kernels/activation.h"

#include "cpu/support/kernels.h"
#include "cpu/support/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

constexpr float kRootTwoOverPi = 0.7978845608028654f, kCubic = 0.044715f;

// NaN is not below 0, so it passes.
HWY_INLINE V relu(V x) {
  return hn::IfThenZeroElse(hn::Lt(x, set(0)), x);
}
HWY_INLINE V normal_cdf(V x) {
  return hn::MulAdd(erf(hn::Mul(x, set(0.7071067811865476f))), set(0.5f), set(0.5f));
}
// 0.5 x (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2 / pi) (x + 0.044715 x^3).
HWY_INLINE V gelu_tanh_gate(V x) {
  const V u = hn::Mul(x, hn::MulAdd(hn::Mul(x, x), set(kCubic), set(1)));
  return sigmoid(hn::Mul(u, set(2 * kRootTwoOverPi)));
}

HWY_INLINE V gelu(V x) {
  return hn::Mul(x, normal_cdf(x));
}
HWY_INLINE V gelu_tanh(V x) {
  return hn::Mul(x, gelu_tanh_gate(x));
}
HWY_INLINE V silu(V x) {
  return hn::Mul(x, sigmoid(x));
}

// Derivatives, at y for the first three and at x for the others.
HWY_INLINE V relu_grad(V y) {
  return hn::IfThenZeroElse(hn::Le(y, set(0)), set(1));
}
HWY_INLINE V tanh_grad(V y) {
  return hn::NegMulAdd(y, y, set(1));
}
HWY_INLINE V sigmoid_grad(V y) {
  return hn::Mul(y, hn::Sub(set(1), y));
}
HWY_INLINE V gelu_grad(V x) {
  const V density = hn::Mul(exp(hn::Mul(hn::Mul(x, x), set(-0.5f))), set(0.3989422804014327f));
  return hn::MulAdd(x, density, normal_cdf(x));
}
HWY_INLINE V gelu_tanh_grad(V x) {
  const V s = gelu_tanh_gate(x);
  const V slope =
      hn::Mul(hn::MulAdd(hn::Mul(x, x), set(3 * kCubic), set(1)), set(2 * kRootTwoOverPi));
  return hn::MulAdd(hn::Mul(x, slope), hn::Mul(s, hn::Sub(set(1), s)), s);
}
HWY_INLINE V silu_grad(V x) {
  const V s = sigmoid(x);
  return hn::Mul(s, hn::MulAdd(x, hn::Sub(set(1), s), set(1)));
}

// Calls run(f) with the activation as a function of vectors.
template <typename Run>
HWY_INLINE void with_activation(int activation, const Run& run) {
  switch (activation) {
    case TV_ACT_RELU:
      return run([](V x) { return relu(x); });
    case TV_ACT_TANH:
      return run([](V x) { return tanh(x); });
    case TV_ACT_SIGMOID:
      return run([](V x) { return sigmoid(x); });
    case TV_ACT_GELU:
    case TV_ACT_GEGLU:
      return run([](V x) { return gelu(x); });
    case TV_ACT_GELU_TANH:
    case TV_ACT_GEGLU_TANH:
      return run([](V x) { return gelu_tanh(x); });
    case TV_ACT_SILU:
    case TV_ACT_SWIGLU:
      return run([](V x) { return silu(x); });
    default:
      return run([](V x) { return x; });
  }
}

// The same for dy * act'(saved).
template <typename Run>
HWY_INLINE void with_gradient(int activation, const Run& run) {
  switch (activation) {
    case TV_ACT_RELU:  // a NaN dy is kept out where the unit is off, as by selection
      return run([](V dy, V y) { return hn::IfThenZeroElse(hn::Le(y, set(0)), dy); });
    case TV_ACT_TANH:
      return run([](V dy, V y) { return hn::Mul(dy, tanh_grad(y)); });
    case TV_ACT_SIGMOID:
      return run([](V dy, V y) { return hn::Mul(dy, sigmoid_grad(y)); });
    case TV_ACT_GELU:
    case TV_ACT_GEGLU:
      return run([](V dy, V x) { return hn::Mul(dy, gelu_grad(x)); });
    case TV_ACT_GELU_TANH:
    case TV_ACT_GEGLU_TANH:
      return run([](V dy, V x) { return hn::Mul(dy, gelu_tanh_grad(x)); });
    case TV_ACT_SILU:
    case TV_ACT_SWIGLU:
      return run([](V dy, V x) { return hn::Mul(dy, silu_grad(x)); });
    default:
      return run([](V dy, V) { return dy; });
  }
}

void epilogue_rows(const Epilogue& e, std::int64_t rows, std::int64_t n, float* c,
                   std::int64_t ld) {
  for (std::int64_t r = 0; r < rows; ++r) {
    float* row = c + r * ld;
    const float* from = row;
    if (e.pre) {
      float* pre = e.pre + r * ld;
      if (e.bias) {
        map(n, pre, add, from, e.bias);
      } else {
        std::copy_n(from, n, pre);
      }
      from = pre;
    }
    with_activation(e.activation, [&](auto f) {
      if (e.bias && !e.pre) {
        map(
            n, row, [=](V x, V b) { return f(add(x, b)); }, from, e.bias);
      } else {
        map(n, row, f, from);
      }
    });
  }
}

void activation_run(int activation, std::int64_t n, float* y, const float* x) {
  with_activation(activation, [&](auto f) { map(n, y, f, x); });
}

// x = (a, b) halves: y = act(a) * b.
void gated_run(int activation, std::int64_t h, float* y, const float* x) {
  with_activation(activation, [&](auto f) {
    map(
        h, y, [=](V a, V b) { return hn::Mul(f(a), b); }, x, x + h);
  });
}

void gated_grad_run(int activation, std::int64_t h, float* dx, const float* x, const float* dy) {
  with_gradient(activation, [&](auto g) {
    map(
        h, dx, [=](V d, V a, V b) { return g(hn::Mul(d, b), a); }, dy, x, x + h);
  });
  with_activation(activation, [&](auto f) {
    map(
        h, dx + h, [=](V d, V a) { return hn::Mul(d, f(a)); }, dy, x);
  });
}

void grad_rows(int activation, std::int64_t rows, std::int64_t n, std::int64_t ld,
               const float* saved, const float* dy, float* dz, float* sums) {
  const bool plain = activation == TV_ACT_NONE;
  for (std::int64_t r = 0; r < rows; ++r) {
    const float *from = dy + r * ld, *at = plain ? from : saved + r * ld;
    float* to = dz + r * ld;
    if (!plain || to != from) {
      with_gradient(activation, [&](auto g) { map(n, to, g, from, at); });
    }
    if (sums) map(n, sums, add, static_cast<const float*>(sums), static_cast<const float*>(to));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {
namespace {

HWY_EXPORT(epilogue_rows);
HWY_EXPORT(activation_run);
HWY_EXPORT(gated_run);
HWY_EXPORT(gated_grad_run);
HWY_EXPORT(grad_rows);

}  // namespace

void apply_epilogue(const Epilogue& e, std::int64_t rows, std::int64_t n, float* c,
                    std::int64_t ld) {
  HWY_DYNAMIC_DISPATCH(epilogue_rows)(e, rows, n, c, ld);
}

void activation_grad_rows(int activation, std::int64_t rows, std::int64_t n, std::int64_t ld,
                          const float* saved, const float* dy, float* dz, float* sums) {
  HWY_DYNAMIC_DISPATCH(grad_rows)(activation, rows, n, ld, saved, dy, dz, sums);
}

// Rows are cut into pieces of about kGrain elements, each with column sums of its own.
bool activation_grad(tv_ctx* ctx, int activation, std::int64_t rows, std::int64_t n,
                     const float* saved, const float* dy, float* dz, float* db, float beta_db) {
  if (n == 0) return true;
  const std::int64_t piece = row_grain(n), pieces = ceil_div(rows, piece);
  float* parts = db ? scratch(ctx, pieces * n) : nullptr;
  if (db && !parts) return false;
  parallel(ctx, pieces, 1, [&](std::int64_t begin, std::int64_t end, std::int32_t) {
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t first = p * piece, count = std::min(piece, rows - first), at = first * n;
      float* sums = db ? parts + p * n : nullptr;
      if (sums) std::fill_n(sums, n, 0.0f);
      activation_grad_rows(activation, count, n, n, saved ? saved + at : nullptr, dy + at, dz + at,
                           sums);
    }
  });
  if (!db) return true;
  for (std::int64_t j = 0; j < n; ++j) {
    float total = 0;
    for (std::int64_t p = 0; p < pieces; ++p) total += parts[p * n + j];
    db[j] = beta_db == 0 ? total : db[j] + total;
  }
  return true;
}

tv_status act_fwd(tv_ctx* ctx, tv_activation activation, const tv_view* y, const tv_view* x) {
  if (!is_f32(*x) || !is_f32(*y) || activation > TV_ACT_SWIGLU) return TV_UNSUPPORTED;
  const float* from = data<float>(*x);
  float* to = data<float>(*y);
  if (!is_gated(activation)) {
    parallel(ctx, element_count(*x), kGrain, [&](auto begin, auto end, auto) {
      HWY_DYNAMIC_DISPATCH(activation_run)(activation, end - begin, to + begin, from + begin);
    });
    return TV_OK;
  }
  const std::int64_t h = y->shape[y->rank - 1];
  if (h == 0) return TV_OK;
  parallel(ctx, element_count(*y) / h, row_grain(2 * h), [&](auto begin, auto end, auto) {
    for (auto r = begin; r < end; ++r) {
      HWY_DYNAMIC_DISPATCH(gated_run)(activation, h, to + r * h, from + r * 2 * h);
    }
  });
  return TV_OK;
}

tv_status act_bwd(tv_ctx* ctx, tv_activation activation, const tv_view* dx, const tv_view* saved,
                  const tv_view* dy) {
  if (!is_f32(*dx) || !is_f32(*dy) || activation > TV_ACT_SWIGLU) return TV_UNSUPPORTED;
  const float* from = data<float>(*dy);
  float* to = data<float>(*dx);
  if (!is_gated(activation)) {
    const float* at = activation == TV_ACT_NONE ? nullptr : data<float>(*saved);
    const std::int64_t n = element_count(*dy);
    parallel(ctx, n, kGrain, [&](auto begin, auto end, auto) {
      activation_grad_rows(activation, 1, end - begin, n, at ? at + begin : nullptr, from + begin,
                           to + begin, nullptr);
    });
    return TV_OK;
  }
  const std::int64_t h = dy->shape[dy->rank - 1];
  if (h == 0) return TV_OK;
  const float* at = data<float>(*saved);
  parallel(ctx, element_count(*dy) / h, row_grain(2 * h), [&](auto begin, auto end, auto) {
    for (auto r = begin; r < end; ++r) {
      HWY_DYNAMIC_DISPATCH(gated_grad_run)
      (activation, h, to + r * 2 * h, at + r * 2 * h, from + r * h);
    }
  });
  return TV_OK;
}

}  // namespace cpu
#endif
