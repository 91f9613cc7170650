// SPDX-License-Identifier: Apache-2.0
// pool2d_fwd and pool2d_bwd, along channels with vectors.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/pool.cpp"
#include <hwy/foreach_target.h>

#include "cpu/support/context.h"
#include "cpu/support/kernels.h"
#include "cpu/support/simd-inl.h"

#ifndef TRIVET_CPU_POOL_WINDOW
#define TRIVET_CPU_POOL_WINDOW
namespace cpu {

// The part of one window that lies inside the image.
struct PoolWindow {
  std::int64_t y0, y1, x0, x1;  // pixels [y0, y1) x [x0, x1)
  std::int64_t top, left;       // of the whole window, may be negative

  PoolWindow(const tv_conv2d_shape& s, std::int64_t oy, std::int64_t ox)
      : top(oy * s.stride_h - s.pad_top), left(ox * s.stride_w - s.pad_left) {
    y0 = std::max<std::int64_t>(0, top), y1 = std::min(s.in_h, top + s.kernel_h);
    x0 = std::max<std::int64_t>(0, left), x1 = std::min(s.in_w, left + s.kernel_w);
  }
  std::int64_t pixels() const { return (y1 - y0) * (x1 - x0); }
};

}  // namespace cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

using I32 = hn::RebindToSigned<F32>;
using Bytes = hn::Rebind<std::uint8_t, I32>;

// The maximum of the window for channels [c, c + lanes), and its tap.
HWY_INLINE V window_max(const tv_conv2d_shape& s, const PoolWindow& p, const float* x,
                        hn::Vec<I32>& where) {
  V best = set(-std::numeric_limits<float>::infinity());
  where = hn::Zero(I32());
  bool first = true;
  for (std::int64_t y = p.y0; y < p.y1; ++y) {
    for (std::int64_t column = p.x0; column < p.x1; ++column) {
      const V v = load(x + (y * s.in_w + column) * s.in_c);
      const auto tap = static_cast<std::int32_t>((y - p.top) * s.kernel_w + column - p.left);
      const auto not_above = hn::Or(hn::Le(v, best), hn::IsNaN(best));
      const auto keep = first ? hn::Lt(v, v) : not_above;
      best = hn::IfThenElse(keep, best, v);
      where = hn::IfThenElse(hn::RebindMask(I32(), keep), where, hn::Set(I32(), tap));
      first = false;
    }
  }
  return best;
}

void max_scalar(const tv_conv2d_shape& s, const PoolWindow& p, const float* x, float& y,
                std::uint8_t& where) {
  bool first = true;
  for (std::int64_t row = p.y0; row < p.y1; ++row) {
    for (std::int64_t column = p.x0; column < p.x1; ++column) {
      const float v = x[(row * s.in_w + column) * s.in_c];
      if (!first && (v <= y || std::isnan(y))) continue;
      y = v;
      where = static_cast<std::uint8_t>((row - p.top) * s.kernel_w + column - p.left);
      first = false;
    }
  }
}

void max_window(const tv_conv2d_shape& s, const PoolWindow& p, const float* x, float* y,
                std::uint8_t* argmax) {
  const auto n = static_cast<std::size_t>(s.in_c), step = lanes();
  std::size_t c = 0;
  for (; c + step <= n; c += step) {
    hn::Vec<I32> where;
    store(window_max(s, p, x + c, where), y + c);
    if (argmax) hn::StoreU(hn::DemoteTo(Bytes(), where), Bytes(), argmax + c);
  }
  for (; c < n; ++c) {
    std::uint8_t where = 0;
    y[c] = -std::numeric_limits<float>::infinity();
    max_scalar(s, p, x + c, y[c], where);
    if (argmax) argmax[c] = where;
  }
}

void mean_window(const tv_conv2d_shape& s, const PoolWindow& p, const float* x, float* y) {
  std::fill_n(y, s.in_c, 0.0f);
  for (std::int64_t row = p.y0; row < p.y1; ++row) {
    for (std::int64_t column = p.x0; column < p.x1; ++column) {
      map(s.in_c, y, add, static_cast<const float*>(y), x + (row * s.in_w + column) * s.in_c);
    }
  }
  const V count = set(static_cast<float>(std::max<std::int64_t>(1, p.pixels())));
  map(
      s.in_c, y, [=](V v) { return hn::Div(v, count); }, static_cast<const float*>(y));
}

void pool_image(const tv_pool2d& d, std::int64_t image) {
  const tv_conv2d_shape& s = d.shape;
  const float* x = static_cast<const float*>(d.x) + image * s.in_h * s.in_w * s.in_c;
  const std::int64_t start = image * s.out_h * s.out_w * s.in_c;
  float* y = static_cast<float*>(d.y) + start;
  std::uint8_t* argmax = d.argmax ? d.argmax + start : nullptr;
  for (std::int64_t oy = 0; oy < s.out_h; ++oy) {
    for (std::int64_t ox = 0; ox < s.out_w; ++ox, y += s.in_c) {
      const PoolWindow p(s, oy, ox);
      if (d.kind == TV_POOL_MAX) {
        max_window(s, p, x, y, argmax);
        if (argmax) argmax += s.in_c;
      } else {
        mean_window(s, p, x, y);
      }
    }
  }
}

// dx = or += dy if this tap was the maximum.
template <bool kAdd>
void max_tap(std::int64_t channels, std::int64_t tap, const float* dy, const std::uint8_t* argmax,
             float* dx) {
  const auto n = static_cast<std::size_t>(channels), step = lanes();
  const auto wanted = hn::Set(I32(), static_cast<std::int32_t>(tap));
  std::size_t c = 0;
  for (; c + step <= n; c += step) {
    const auto where = hn::PromoteTo(I32(), hn::LoadU(Bytes(), argmax + c));
    V v = hn::IfThenElseZero(hn::RebindMask(F32(), hn::Eq(where, wanted)), load(dy + c));
    if (kAdd) v = hn::Add(v, load(dx + c));
    store(v, dx + c);
  }
  for (; c < n; ++c) {
    const float v = argmax[c] == tap ? dy[c] : 0.0f;
    dx[c] = kAdd ? dx[c] + v : v;
  }
}

void mean_tap(std::int64_t channels, std::int64_t pixels, const float* dy, float* dx) {
  const V share = set(1.0f / static_cast<float>(pixels));
  const float* start = dx;
  map(
      channels, dx, [=](V sum, V d) { return hn::MulAdd(d, share, sum); }, start, dy);
}

void pool_grad_image(const tv_pool2d_grad& d, std::int64_t image) {
  const tv_conv2d_shape& s = d.shape;
  float* dx = static_cast<float*>(d.dx) + image * s.in_h * s.in_w * s.in_c;
  const std::int64_t start = image * s.out_h * s.out_w * s.in_c;
  const float* dy = static_cast<const float*>(d.dy) + start;
  const std::uint8_t* argmax = d.argmax ? d.argmax + start : nullptr;
  // Non-overlapping windows that cover the image write every pixel once.
  const bool exact = d.kind == TV_POOL_MAX && s.stride_h == s.kernel_h &&
                     s.stride_w == s.kernel_w && s.pad_top == 0 && s.pad_left == 0 &&
                     s.out_h * s.kernel_h >= s.in_h && s.out_w * s.kernel_w >= s.in_w;
  if (!exact) std::fill_n(dx, s.in_h * s.in_w * s.in_c, 0.0f);
  for (std::int64_t oy = 0; oy < s.out_h; ++oy) {
    for (std::int64_t ox = 0; ox < s.out_w; ++ox, dy += s.in_c) {
      const PoolWindow p(s, oy, ox);
      for (std::int64_t y = p.y0; y < p.y1; ++y) {
        for (std::int64_t x = p.x0; x < p.x1; ++x) {
          float* to = dx + (y * s.in_w + x) * s.in_c;
          const std::int64_t tap = (y - p.top) * s.kernel_w + x - p.left;
          if (d.kind == TV_POOL_AVG) {
            mean_tap(s.in_c, p.pixels(), dy, to);
          } else if (exact) {
            max_tap<false>(s.in_c, tap, dy, argmax, to);
          } else {
            max_tap<true>(s.in_c, tap, dy, argmax, to);
          }
        }
      }
      if (argmax) argmax += s.in_c;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {
namespace {

HWY_EXPORT(pool_image);
HWY_EXPORT(pool_grad_image);

template <typename Pool>
bool supports(const Pool& d) {
  const tv_conv2d_shape& s = d.shape;
  return d.dtype == TV_F32 && d.kind <= TV_POOL_AVG && s.dilation_h <= 1 && s.dilation_w <= 1 &&
         s.kernel_h * s.kernel_w <= 256;
}

}  // namespace

tv_status pool2d_fwd(tv_ctx* ctx, const tv_pool2d* d) {
  if (!supports(*d)) return TV_UNSUPPORTED;
  const tv_conv2d_shape& s = d->shape;
  parallel(ctx, s.batch, row_grain(s.in_h * s.in_w * s.in_c), [&](auto begin, auto end, auto) {
    for (auto image = begin; image < end; ++image) HWY_DYNAMIC_DISPATCH(pool_image)(*d, image);
  });
  return TV_OK;
}

tv_status pool2d_bwd(tv_ctx* ctx, const tv_pool2d_grad* d) {
  if (!supports(*d)) return TV_UNSUPPORTED;
  const tv_conv2d_shape& s = d->shape;
  parallel(ctx, s.batch, row_grain(s.in_h * s.in_w * s.in_c), [&](auto begin, auto end, auto) {
    for (auto image = begin; image < end; ++image) HWY_DYNAMIC_DISPATCH(pool_grad_image)(*d, image);
  });
  return TV_OK;
}

}  // namespace cpu
#endif
