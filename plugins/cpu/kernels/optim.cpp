// SPDX-License-Identifier: Apache-2.0
// optim: one pass over parameters, gradients and state.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/optim.cpp"
#include <hwy/foreach_target.h>

#include "cpu/support/context.h"
#include "cpu/support/kernels.h"
#include "cpu/support/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

// Calls f(w, g, s0, s1) on vectors of parameters, gradients and state; f changes all but g.
template <typename F>
HWY_INLINE void update(std::int64_t count, float* w, const float* g, float* s0, float* s1, F f) {
  const auto n = static_cast<std::size_t>(count), step = lanes();
  std::size_t i = 0;
  const V none = set(0);
  for (; i + step <= n; i += step) {
    V vw = load(w + i), v0 = s0 ? load(s0 + i) : none, v1 = s1 ? load(s1 + i) : none;
    f(vw, load(g + i), v0, v1);
    store(vw, w + i);
    if (s0) store(v0, s0 + i);
    if (s1) store(v1, s1 + i);
  }
  if (i == n) return;
  const std::size_t rest = n - i;
  V vw = load_part(w + i, rest), v0 = s0 ? load_part(s0 + i, rest) : none;
  V v1 = s1 ? load_part(s1 + i, rest) : none;
  f(vw, load_part(g + i, rest), v0, v1);
  store_part(vw, w + i, rest);
  if (s0) store_part(v0, s0 + i, rest);
  if (s1) store_part(v1, s1 + i, rest);
}

void sgd(const tv_optim& d, std::int64_t n, float* w, const float* g, float* s0, float*) {
  const V scale = set(d.grad_scale), decay = set(d.weight_decay), lr = set(d.lr);
  const V momentum = set(d.momentum);
  const bool moves = d.momentum != 0, nesterov = d.nesterov;
  update(n, w, g, moves ? s0 : nullptr, nullptr, [=](V& vw, V grad, V& v, V&) {
    V step = hn::MulAdd(decay, vw, hn::Mul(scale, grad));
    if (moves) {
      v = hn::MulAdd(momentum, v, step);
      step = nesterov ? hn::MulAdd(momentum, v, step) : v;
    }
    vw = hn::NegMulAdd(lr, step, vw);
  });
}

void adam(const tv_optim& d, std::int64_t n, float* w, const float* g, float* s0, float* s1) {
  const V scale = set(d.grad_scale), b1 = set(d.beta1), b2 = set(d.beta2);
  const V c1 = set(1 - d.beta1), c2 = set(1 - d.beta2), keep = set(1 - d.lr * d.weight_decay);
  const V step = set(d.step_size), v_scale = set(d.v_scale), epsilon = set(d.epsilon);
  update(n, w, g, s0, s1, [=](V& vw, V grad, V& m, V& v) {
    const V sg = hn::Mul(scale, grad);
    m = hn::MulAdd(b1, m, hn::Mul(c1, sg));
    v = hn::MulAdd(b2, v, hn::Mul(c2, hn::Mul(sg, sg)));
    const V down = hn::MulAdd(hn::Sqrt(v), v_scale, epsilon);
    vw = hn::NegMulAdd(step, hn::Div(m, down), hn::Mul(keep, vw));
  });
}

void lion(const tv_optim& d, std::int64_t n, float* w, const float* g, float* s0, float*) {
  const V scale = set(d.grad_scale), b1 = set(d.beta1), b2 = set(d.beta2);
  const V c1 = set(1 - d.beta1), c2 = set(1 - d.beta2), decay = set(d.weight_decay), lr = set(d.lr);
  update(n, w, g, s0, nullptr, [=](V& vw, V grad, V& m, V&) {
    const V sg = hn::Mul(scale, grad);
    const V mixed = hn::MulAdd(b1, m, hn::Mul(c1, sg));
    const V one = hn::IfThenElse(hn::Gt(mixed, set(0)), set(1), set(0));
    const V sign = nan_or(mixed, hn::IfThenElse(hn::Lt(mixed, set(0)), set(-1), one));
    vw = hn::NegMulAdd(lr, hn::MulAdd(decay, vw, sign), vw);
    m = hn::MulAdd(b2, m, hn::Mul(c2, sg));
  });
}

void optim_run(const tv_optim& d, std::int64_t n, float* w, const float* g, float* s0, float* s1) {
  if (d.kind == TV_SGD) return sgd(d, n, w, g, s0, s1);
  if (d.kind == TV_ADAM) return adam(d, n, w, g, s0, s1);
  return lion(d, n, w, g, s0, s1);
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {
namespace {

HWY_EXPORT(optim_run);

}  // namespace

tv_status optim(tv_ctx* ctx, const tv_optim* d) {
  if (d->kind > TV_LION) return TV_UNSUPPORTED;
  parallel(ctx, d->n, kGrain, [&](std::int64_t begin, std::int64_t end, std::int32_t) {
    const auto at = [&](auto* p) { return p ? p + begin : nullptr; };
    HWY_DYNAMIC_DISPATCH(optim_run)
    (*d, end - begin, d->param + begin, d->grad + begin, at(d->slot0), at(d->slot1));
  });
  return TV_OK;
}

}  // namespace cpu
#endif
