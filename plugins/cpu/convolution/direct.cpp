// SPDX-License-Identifier: Apache-2.0
// The inner loops of convolution. A tile of pixels times two vectors of channels stays in registers
// while it runs over all taps; the image is read in place (no im2col), filters are packed in panels
// of two vectors so that both stream.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/convolution/direct.cpp"
#include <hwy/foreach_target.h>

#include "cpu/convolution/direct.h"

#include "cpu/support/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

inline constexpr std::int64_t kGradPixels = 256;  // of dz per pass: 16 KiB of a panel

HWY_INLINE std::int64_t panel_width() {
  return static_cast<std::int64_t>(2 * lanes());
}

std::int64_t whole_panels(std::int64_t n) {
  return ceil_div(n, panel_width()) * panel_width();
}

// Taps as runs of floats that are contiguous in the framed image.
struct Runs {
  std::int64_t count, length, per_row, row_step, column_step;

  explicit Runs(const Window& w) {
    const bool joined = w.dilation_w == 1;
    per_row = joined ? 1 : w.kernel_w;
    count = w.kernel_h * per_row;
    length = joined ? w.kernel_w * w.image.channels : w.image.channels;
    row_step = w.dilation_h * w.image.width * w.image.channels;
    column_step = w.dilation_w * w.image.channels;
  }
  std::int64_t offset(std::int64_t run) const {
    return run / per_row * row_step + run % per_row * column_step;
  }
};

template <int kPixels>
HWY_INLINE void load_sums(V (&s)[kPixels][2], V low, V high) {
  unrolled<kPixels>([&](std::size_t r) TRIVET_CPU_INLINE { s[r][0] = low, s[r][1] = high; });
}

// s[r] += sum over i of broadcast(a[r][i * a_step]) * b[i]
template <int kPixels>
HWY_INLINE void multiply_add(V (&s)[kPixels][2], const float* const (&a)[kPixels],
                             std::int64_t a_step, const float* b, std::int64_t count) {
  const std::size_t n = lanes();
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i, at += a_step, b += 2 * n) {
    const V b0 = load(b), b1 = load(b + n);
    unrolled<kPixels>([&](std::size_t r) TRIVET_CPU_INLINE {
      const V x = set(a[r][at]);
      s[r][0] = hn::MulAdd(x, b0, s[r][0]);
      s[r][1] = hn::MulAdd(x, b1, s[r][1]);
    });
  }
}

// Two vectors of sums to `valid` channels.
HWY_INLINE void store_sums(V low, V high, float* to, std::int64_t valid) {
  const auto n = static_cast<std::int64_t>(lanes());
  if (valid >= 2 * n) {
    store(low, to), store(high, to + n);
  } else if (valid >= n) {
    store(low, to), store_part(high, to + n, static_cast<std::size_t>(valid - n));
  } else {
    store_part(low, to, static_cast<std::size_t>(valid));
  }
}

struct Tile {
  const Window* w;
  const Runs* runs;
  const float* image;
  const float* panel;
  const float* bias;  // null: zeros
  bool relu;
  float* y;
  std::int64_t valid;  // channels of this panel
};

template <int kPixels>
HWY_INLINE void convolve_tile(const Tile& t, std::int64_t pixel) {
  const Window& w = *t.w;
  const float* first[kPixels];
  const std::int64_t down = w.stride_h * w.image.width * w.image.channels;
  const std::int64_t right = w.stride_w * w.image.channels;
  std::int64_t row = pixel / w.out_w, column = pixel % w.out_w;
  unrolled<kPixels>([&](std::size_t r) TRIVET_CPU_INLINE {
    first[r] = t.image + row * down + column * right;
    if (++column == w.out_w) column = 0, ++row;
  });
  V s[kPixels][2];
  load_sums(s, t.bias ? load(t.bias) : set(0), t.bias ? load(t.bias + lanes()) : set(0));
  const float* b = t.panel;
  for (std::int64_t run = 0; run < t.runs->count; ++run) {
    const float* a[kPixels];
    const std::int64_t distance = t.runs->offset(run);
    unrolled<kPixels>([&](std::size_t r) TRIVET_CPU_INLINE { a[r] = first[r] + distance; });
    multiply_add(s, a, 1, b, t.runs->length);
    b += t.runs->length * panel_width();
  }
  float* y = t.y + pixel * w.out_c;
  unrolled<kPixels>([&](std::size_t r) TRIVET_CPU_INLINE {
    V low = s[r][0], high = s[r][1];
    if (t.relu) {
      low = hn::IfThenZeroElse(hn::Lt(low, set(0)), low);
      high = hn::IfThenZeroElse(hn::Lt(high, set(0)), high);
    }
    store_sums(low, high, y + static_cast<std::int64_t>(r) * w.out_c, t.valid);
  });
}

template <int kPixels>
void convolve_rest(const Tile& t, std::int64_t pixel, std::int64_t rest) {
  if (rest == kPixels) return convolve_tile<kPixels>(t, pixel);
  if constexpr (kPixels > 1) convolve_rest<kPixels - 1>(t, pixel, rest);
}

void convolve_image(const Window& w, const float* framed, const float* packed, const float* bias,
                    bool relu, float* y) {
  const Runs runs(w);
  const std::int64_t width = panel_width(), pixels = w.pixels();
  for (std::int64_t n = 0; n < w.out_c; n += width) {
    const Tile t{&w,   &runs, framed,     packed + n * w.depth(), bias ? bias + n : nullptr,
                 relu, y + n, w.out_c - n};
    std::int64_t pixel = 0;
    for (; pixel + kRows <= pixels; pixel += kRows) convolve_tile<kRows>(t, pixel);
    if (pixel < pixels) convolve_rest<kRows>(t, pixel, pixels - pixel);
  }
}

// --- Filter gradient: rows are taps, the sum runs over pixels ---

struct GradTile {
  const Window* w;
  const float* image;
  const float* panel;          // dz of the pixels of these rows, [pixels, 2 vectors]
  const std::int64_t* offset;  // per tap, in the framed image
  std::int64_t first_row, rows;
};

template <int kTaps>
HWY_INLINE void grad_tile(const GradTile& t, std::int64_t tap, float* dw) {
  const Window& w = *t.w;
  const std::int64_t down = w.stride_h * w.image.width * w.image.channels;
  const std::int64_t right = w.stride_w * w.image.channels;
  const std::size_t n = lanes();
  V s[kTaps][2];
  unrolled<kTaps>([&](std::size_t r) TRIVET_CPU_INLINE {
    s[r][0] = load(dw + 2 * n * r);
    s[r][1] = load(dw + 2 * n * r + n);
  });
  for (std::int64_t row = 0; row < t.rows; ++row) {
    const float* a[kTaps];
    const float* base = t.image + (t.first_row + row) * down;
    const std::int64_t* offset = t.offset + tap;
    unrolled<kTaps>([&](std::size_t r) TRIVET_CPU_INLINE { a[r] = base + offset[r]; });
    multiply_add(s, a, right, t.panel + row * w.out_w * panel_width(), w.out_w);
  }
  unrolled<kTaps>([&](std::size_t r) TRIVET_CPU_INLINE {
    store(s[r][0], dw + 2 * n * r);
    store(s[r][1], dw + 2 * n * r + n);
  });
}

template <int kTaps>
void grad_rest(const GradTile& t, std::int64_t tap, std::int64_t rest, float* dw) {
  if (rest == kTaps) return grad_tile<kTaps>(t, tap, dw);
  if constexpr (kTaps > 1) grad_rest<kTaps - 1>(t, tap, rest, dw);
}

std::int64_t grad_rows_per_pass(const Window& w) {
  return std::max<std::int64_t>(1, kGradPixels / w.out_w);
}

// The tap offsets are stored before the panel.
std::int64_t panel_size(const Window& w) {
  const std::int64_t offsets = ceil_div(w.depth() * 2, 16) * 16;
  return offsets + grad_rows_per_pass(w) * w.out_w * panel_width();
}

void pack_channels(std::int64_t pixels, std::int64_t channels, const float* dz, std::int64_t valid,
                   float* panel) {
  const std::int64_t width = panel_width();
  const std::size_t n = lanes();
  for (std::int64_t p = 0; p < pixels; ++p, dz += channels, panel += width) {
    if (valid >= width) {
      store(load(dz), panel), store(load(dz + n), panel + n);
    } else {
      std::fill_n(panel, width, 0.0f);
      std::copy_n(dz, valid, panel);
    }
  }
}

void grad_image(const Window& w, const float* framed, const float* dz, float* scratch, float* dw) {
  const std::int64_t depth = w.depth(), width = panel_width();
  auto* offset = reinterpret_cast<std::int64_t*>(scratch);
  float* panel = scratch + ceil_div(depth * 2, 16) * 16;
  const Runs runs(w);
  for (std::int64_t tap = 0; tap < depth; ++tap) {
    offset[tap] = runs.offset(tap / runs.length) + tap % runs.length;
  }
  const std::int64_t step = grad_rows_per_pass(w);
  for (std::int64_t row = 0; row < w.out_h; row += step) {
    const std::int64_t rows = std::min(step, w.out_h - row);
    for (std::int64_t n = 0; n < w.out_c; n += width) {
      pack_channels(rows * w.out_w, w.out_c, dz + row * w.out_w * w.out_c + n, w.out_c - n, panel);
      const GradTile t{&w, framed, panel, offset, row, rows};
      float* to = dw + n * depth;
      std::int64_t tap = 0;
      for (; tap + kRows <= depth; tap += kRows) grad_tile<kRows>(t, tap, to + tap * width);
      if (tap < depth) grad_rest<kRows>(t, tap, depth - tap, to + tap * width);
    }
  }
}

void pack(const Window& w, const float* filter, const FilterTaps& taps, float* packed) {
  const std::int64_t in = w.image.channels, out = w.out_c, width = panel_width();
  const std::int64_t down = taps.reversed ? 1 : out, right = taps.reversed ? in : 1;
  for (std::int64_t n = 0; n < out; n += width) {
    const std::int64_t valid = std::min(width, out - n);
    for (std::int64_t y = 0; y < w.kernel_h; ++y) {
      for (std::int64_t x = 0; x < w.kernel_w; ++x) {
        const float* from = filter + taps.at(w, y, x) * in * out + n * right;
        for (std::int64_t c = 0; c < in; ++c, from += down, packed += width) {
          for (std::int64_t j = 0; j < valid; ++j) packed[j] = from[j * right];
          std::fill(packed + valid, packed + width, 0.0f);
        }
      }
    }
  }
}

void unpack(const Window& w, const float* packed, float beta, float* dw) {
  const std::int64_t depth = w.depth(), width = panel_width();
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t j = 0; j < w.out_c; ++j) {
      const float sum = packed[(j / width * depth + k) * width + j % width];
      float& to = dw[k * w.out_c + j];
      to = beta == 0 ? sum : to + sum;
    }
  }
}

void add_into(std::int64_t n, float* to, const float* from) {
  map(n, to, add, static_cast<const float*>(to), from);
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {
namespace {

HWY_EXPORT(whole_panels);
HWY_EXPORT(convolve_image);
HWY_EXPORT(panel_size);
HWY_EXPORT(grad_image);
HWY_EXPORT(pack);
HWY_EXPORT(unpack);
HWY_EXPORT(add_into);

}  // namespace

std::int64_t padded_channels(std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(whole_panels)(n);
}

std::int64_t packed_filter_size(const Window& w) {
  return w.depth() * padded_channels(w.out_c);
}

void pack_filter(const Window& w, const float* filter, const FilterTaps& taps, float* packed) {
  HWY_DYNAMIC_DISPATCH(pack)(w, filter, taps, packed);
}

void convolve(const Window& w, const float* framed, const float* packed, const ConvEpilogue& then,
              float* y) {
  HWY_DYNAMIC_DISPATCH(convolve_image)(w, framed, packed, then.bias, then.relu, y);
}

std::int64_t filter_grad_panel_size(const Window& w) {
  return HWY_DYNAMIC_DISPATCH(panel_size)(w);
}

void filter_grad(const Window& w, const float* framed, const float* dz, float* panel, float* dw) {
  HWY_DYNAMIC_DISPATCH(grad_image)(w, framed, dz, panel, dw);
}

void unpack_filter_grad(const Window& w, std::int64_t parts, float* packed, float beta, float* dw) {
  const std::int64_t size = packed_filter_size(w);
  for (std::int64_t step = 1; step < parts; step *= 2) {
    for (std::int64_t p = 0; p + step < parts; p += 2 * step) {
      HWY_DYNAMIC_DISPATCH(add_into)(size, packed + p * size, packed + (p + step) * size);
    }
  }
  HWY_DYNAMIC_DISPATCH(unpack)(w, packed, beta, dw);
}

}  // namespace cpu
#endif
