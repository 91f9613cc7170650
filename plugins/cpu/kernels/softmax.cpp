// SPDX-License-Identifier: Apache-2.0
// softmax_xent: loss and gradient of the softmax cross entropy, row by row.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/softmax.cpp"
#include <hwy/foreach_target.h>

#include "cpu/kernels/softmax.h"

#include "cpu/support/context.h"
#include "cpu/support/kernels.h"
#include "cpu/support/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

// log(sum(exp(x - most))), most = the largest x.
float log_sum_exp(std::int64_t n, const float* x, float& most) {
  most = row_max(n, x);
  if (std::isinf(most)) return 0;  // nothing to sum, or an overflow
  const V shift = set(most);
  const auto add_exp = [=](V s, V v) { return add(s, exp(hn::Sub(v, shift))); };
  const V total = fold(n, 0, -std::numeric_limits<float>::infinity(), add_exp, add, x);
  return std::log(lane_sum(total));
}

// out = scale * softmax(x) - offset, in place if wanted. A large lse is rounded too coarsely to
// divide by exp(lse), so the exponentials are divided by their own sum.
void softmax_gradient(std::int64_t n, const float* x, float* out, float lse, float scale,
                      float offset) {
  const V shift = set(lse);
  map(
      n, out, [=](V v) { return exp(hn::Sub(v, shift)); }, x);
  const V factor = set(scale / row_sum(n, out)), off = set(offset);
  map(
      n, out, [=](V v) { return hn::MulSub(v, factor, off); }, static_cast<const float*>(out));
}

// The sum of x - most.
float shifted_sum(std::int64_t n, const float* x, float most) {
  const V shift = set(most);
  const auto add_shifted = [=](V s, V v) { return add(s, hn::Sub(v, shift)); };
  return lane_sum(fold(n, 0, most, add_shifted, add, x));
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {

HWY_EXPORT(log_sum_exp);
HWY_EXPORT(softmax_gradient);
HWY_EXPORT(shifted_sum);

void loss_row(const tv_softmax_xent& d, std::int64_t r, const float* x) {
  const std::int32_t target = d.targets[r];
  float most = 0;
  const float log_sum = HWY_DYNAMIC_DISPATCH(log_sum_exp)(d.classes, x, most);
  const float lse = most + log_sum;
  d.lse[r] = lse;
  if (target < 0) {
    d.loss[r] = 0;
    return;
  }
  // Relative to the largest logit: lse and a large logit are too close for their difference.
  float expected = (1 - d.smoothing) * (x[target] - most);
  if (d.smoothing != 0) {
    const float sum = HWY_DYNAMIC_DISPATCH(shifted_sum)(d.classes, x, most);
    expected += d.smoothing / static_cast<float>(d.classes) * sum;
  }
  d.loss[r] = log_sum - expected + d.z_loss * lse * lse;
}

void gradient_row(const tv_softmax_xent& d, std::int64_t r, const float* x, float* dx) {
  const std::int32_t target = d.targets[r];
  if (target < 0) {
    std::fill_n(dx, d.classes, 0.0f);
    return;
  }
  const float g = d.row_grad[r], lse = d.lse[r];
  const float scale = g * (1 + 2 * d.z_loss * lse);
  const float offset = g * d.smoothing / static_cast<float>(d.classes);
  HWY_DYNAMIC_DISPATCH(softmax_gradient)(d.classes, x, dx, lse, scale, offset);
  dx[target] -= g * (1 - d.smoothing);
}

tv_status check_targets(tv_ctx* ctx, const char* function, const std::int32_t* targets,
                        std::int64_t rows, std::int64_t classes) {
  for (std::int64_t r = 0; r < rows; ++r) {
    if (targets[r] < classes) continue;
    return fail(ctx, std::string(function) + ": target " + std::to_string(targets[r]) + " in row " +
                         std::to_string(r) + " is not below " + std::to_string(classes));
  }
  return TV_OK;
}

tv_status softmax_xent(tv_ctx* ctx, const tv_softmax_xent* d) {
  if (d->dtype != TV_F32) return TV_UNSUPPORTED;
  const tv_status found = check_targets(ctx, "softmax_xent", d->targets, d->rows, d->classes);
  if (found != TV_OK) return found;
  const auto* logits = static_cast<const float*>(d->logits);
  auto* dlogits = static_cast<float*>(d->dlogits);
  parallel(ctx, d->rows, row_grain(d->classes), [&](auto begin, auto end, auto) {
    for (auto r = begin; r < end; ++r) {
      const float* x = logits + r * d->classes;
      if (dlogits) {
        gradient_row(*d, r, x, dlogits + r * d->classes);
      } else {
        loss_row(*d, r, x);
      }
    }
  });
  return TV_OK;
}

}  // namespace cpu
#endif
