// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/convolution/winograd_transform.cpp"
#include <hwy/foreach_target.h>

#include "cpu/convolution/winograd_transform.h"

#include <hwy/cache_control.h>

#include "cpu/support/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

// The position of a tile among those of all images.
struct TileAt {
  std::int64_t image, row, column;

  TileAt(const TileGrid& g, std::int64_t tile)
      : image(tile / (g.rows * g.columns)),
        row(tile / g.columns % g.rows),
        column(tile % g.columns) {}

  void advance(const TileGrid& g) {
    if (++column < g.columns) return;
    column = 0;
    if (++row == g.rows) row = 0, ++image;
  }
};

// The pixels of a tile of kSize x kSize, or `outside`.
template <int kSize, typename Pixel>
HWY_INLINE void find_pixels(const TileGrid& g, const TileAt& at, Pixel* images, Pixel* outside,
                            Pixel* (&pixels)[kSize * kSize]) {
  const std::int64_t y = 2 * at.row + g.first_y, x = 2 * at.column + g.first_x;
  const std::int64_t first = (at.image * g.height + y) * g.width + x;
  for (std::int64_t i = 0; i < kSize; ++i) {
    const bool row_inside = y + i >= 0 && y + i < g.height;
    for (std::int64_t j = 0; j < kSize; ++j) {
      const bool inside = row_inside && x + j >= 0 && x + j < g.width;
      pixels[i * kSize + j] = inside ? images + (first + i * g.width + j) * g.channels : outside;
    }
  }
}

// Calls f(position, load, store) for vectors of n floats. The last one may contain floats of the
// one before it, or be a part.
template <typename F>
HWY_INLINE void each_vector(std::int64_t n, const F& f) {
  const auto step = static_cast<std::int64_t>(lanes());
  const auto whole = [&](std::int64_t at) TRIVET_CPU_INLINE {
    f(
        at, [](const float* from) TRIVET_CPU_INLINE { return load(from); },
        [](V v, float* to) TRIVET_CPU_INLINE { store(v, to); });
  };
  for (std::int64_t at = 0; at + step <= n; at += step) whole(at);
  if (n % step == 0) return;
  if (n > step) return whole(n - step);
  const auto count = static_cast<std::size_t>(n);
  f(
      0, [=](const float* from) TRIVET_CPU_INLINE { return load_part(from, count); },
      [=](V v, float* to) TRIVET_CPU_INLINE { store_part(v, to, count); });
}

// The floats of a row of each matrix from `channels` on.
HWY_INLINE void clear_rest(std::int64_t channels, const TileMatrices& to, float* row) {
  if (channels == to.step) return;
  for (std::int64_t i = 0; i < kWinogradProducts; ++i, row += to.distance) {
    std::fill(row + channels, row + to.step, 0.0f);
  }
}

// B^T d of the four elements of a column.
HWY_INLINE void transform_4(V& a, V& b, V& c, V& d) {
  const V first = hn::Sub(a, c), second = hn::Add(b, c), third = hn::Sub(c, b);
  d = hn::Sub(b, d);
  a = first, b = second, c = third;
}

void input(const TileGrid& g, const TileRange& tiles, const float* images, const float* zeros,
           const TileMatrices& to) {
  // Caches do not fetch runs this short ahead.
  const std::int64_t ahead = 4 * g.channels;
  float* row = to.data;
  TileAt at(g, tiles.first);
  for (std::int64_t t = 0; t < tiles.count; ++t, at.advance(g), row += to.step) {
    const float* pixels[16];
    find_pixels<4>(g, at, images, zeros, pixels);
    each_vector(g.channels, [&](std::int64_t c, auto load_from, auto store_to) TRIVET_CPU_INLINE {
      V v[16];
      unrolled<16>([&](auto i) TRIVET_CPU_INLINE {
        v[i] = load_from(pixels[i] + c);
        if (i % 4 >= 2 && pixels[i] != zeros) hwy::Prefetch(pixels[i] + ahead + c);
      });
      unrolled<4>([&](auto j)
                      TRIVET_CPU_INLINE { transform_4(v[j], v[4 + j], v[8 + j], v[12 + j]); });
      unrolled<4>([&](auto i) TRIVET_CPU_INLINE {
        transform_4(v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]);
      });
      unrolled<16>([&](auto i) TRIVET_CPU_INLINE {
        store_to(v[i], row + static_cast<std::int64_t>(i) * to.distance + c);
      });
    });
    clear_rest(g.channels, to, row);
  }
}

// A z of two elements: z0, z0 + z1, z0 - z1, -z1.
HWY_INLINE void spread_2(V z0, V z1, V& a, V& b, V& c, V& d) {
  a = z0, b = hn::Add(z0, z1), c = hn::Sub(z0, z1), d = hn::Neg(z1);
}

void output_grad(const TileGrid& g, const TileRange& tiles, const float* dz, const float* zeros,
                 const TileMatrices& to) {
  float* row = to.data;
  TileAt at(g, tiles.first);
  for (std::int64_t t = 0; t < tiles.count; ++t, at.advance(g), row += to.step) {
    const float* pixels[4];
    find_pixels<2>(g, at, dz, zeros, pixels);
    each_vector(g.channels, [&](std::int64_t c, auto load_from, auto store_to) TRIVET_CPU_INLINE {
      V z[4], rows[8], v[16];
      unrolled<4>([&](auto i) TRIVET_CPU_INLINE { z[i] = load_from(pixels[i] + c); });
      unrolled<2>([&](auto j) TRIVET_CPU_INLINE {
        spread_2(z[j], z[2 + j], rows[j], rows[2 + j], rows[4 + j], rows[6 + j]);
      });
      unrolled<4>([&](auto i) TRIVET_CPU_INLINE {
        V* const w = v + 4 * i;
        spread_2(rows[2 * i], rows[2 * i + 1], w[0], w[1], w[2], w[3]);
      });
      unrolled<16>([&](auto i) TRIVET_CPU_INLINE {
        store_to(v[i], row + static_cast<std::int64_t>(i) * to.distance + c);
      });
    });
    clear_rest(g.channels, to, row);
  }
}

// A^T m of four elements: two.
HWY_INLINE void gather_4(V a, V b, V c, V d, V& first, V& second) {
  first = hn::Add(a, hn::Add(b, c));
  second = hn::Sub(hn::Sub(b, c), d);
}

void output(const TileGrid& g, const TileRange& tiles, const TileMatrices& from, const float* bias,
            bool relu, float* images) {
  const float* row = from.data;
  TileAt at(g, tiles.first);
  for (std::int64_t t = 0; t < tiles.count; ++t, at.advance(g), row += from.step) {
    float* pixels[4];
    find_pixels<2>(g, at, images, static_cast<float*>(nullptr), pixels);
    each_vector(g.channels, [&](std::int64_t c, auto load_from, auto store_to) TRIVET_CPU_INLINE {
      V m[16], rows[8], y[4];
      unrolled<16>([&](auto i) TRIVET_CPU_INLINE {
        m[i] = load_from(row + static_cast<std::int64_t>(i) * from.distance + c);
      });
      unrolled<4>([&](auto j) TRIVET_CPU_INLINE {
        gather_4(m[j], m[4 + j], m[8 + j], m[12 + j], rows[j], rows[4 + j]);
      });
      unrolled<2>([&](auto i) TRIVET_CPU_INLINE {
        const V* const r = rows + 4 * i;
        gather_4(r[0], r[1], r[2], r[3], y[2 * i], y[2 * i + 1]);
      });
      const V add_to = bias ? load_from(bias + c) : set(0);
      unrolled<4>([&](auto i) TRIVET_CPU_INLINE {
        V v = bias ? hn::Add(y[i], add_to) : y[i];
        if (relu) v = hn::IfThenZeroElse(hn::Lt(v, set(0)), v);
        if (pixels[i]) store_to(v, pixels[i] + c);
      });
    });
  }
}

// G w of three elements: w0, (w0 + w1 + w2) / 2, (w0 - w1 + w2) / 2, w2.
HWY_INLINE void spread_3(V w0, V w1, V w2, V& a, V& b, V& c, V& d) {
  const V half = set(0.5f), ends = hn::Mul(half, hn::Add(w0, w2)), middle = hn::Mul(half, w1);
  a = w0, b = hn::Add(ends, middle), c = hn::Sub(ends, middle), d = w2;
}

void filter_part(std::int64_t count, std::int64_t begin, std::int64_t end, const float* from,
                 bool reversed, float* to) {
  each_vector(end - begin, [&](std::int64_t at, auto load_from, auto store_to) TRIVET_CPU_INLINE {
    V w[9], rows[12], v[16];
    unrolled<9>([&](auto i) TRIVET_CPU_INLINE {
      const auto tap = static_cast<std::int64_t>(reversed ? 8 - i : i);
      w[i] = load_from(from + tap * count + begin + at);
    });
    unrolled<3>([&](auto j) TRIVET_CPU_INLINE {
      spread_3(w[j], w[3 + j], w[6 + j], rows[j], rows[3 + j], rows[6 + j], rows[9 + j]);
    });
    unrolled<4>([&](auto i) TRIVET_CPU_INLINE {
      const V* const r = rows + 3 * i;
      spread_3(r[0], r[1], r[2], v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]);
    });
    unrolled<16>([&](auto i) TRIVET_CPU_INLINE {
      store_to(v[i], to + static_cast<std::int64_t>(i) * count + begin + at);
    });
  });
}

// G^T u of four elements: three.
HWY_INLINE void gather_3(V a, V b, V c, V d, V& first, V& second, V& third) {
  const V half = set(0.5f), sum = hn::Mul(half, hn::Add(b, c));
  first = hn::Add(a, sum), second = hn::Mul(half, hn::Sub(b, c)), third = hn::Add(sum, d);
}

void filter_grad_part(std::int64_t in, std::int64_t out, std::int64_t step, const float* from,
                      float* to) {
  for (std::int64_t i = 0; i < in; ++i, from += step, to += out) {
    each_vector(out, [&](std::int64_t at, auto load_from, auto store_to) TRIVET_CPU_INLINE {
      V u[16], rows[12], w[9];
      unrolled<16>([&](auto k) TRIVET_CPU_INLINE {
        u[k] = load_from(from + static_cast<std::int64_t>(k) * in * step + at);
      });
      unrolled<4>([&](auto j) TRIVET_CPU_INLINE {
        gather_3(u[j], u[4 + j], u[8 + j], u[12 + j], rows[j], rows[4 + j], rows[8 + j]);
      });
      unrolled<3>([&](auto k) TRIVET_CPU_INLINE {
        const V* const r = rows + 4 * k;
        gather_3(r[0], r[1], r[2], r[3], w[3 * k], w[3 * k + 1], w[3 * k + 2]);
      });
      unrolled<9>([&](auto k) TRIVET_CPU_INLINE {
        store_to(w[k], to + static_cast<std::int64_t>(k) * in * out + at);
      });
    });
  }
}

void sum_part(std::int64_t count, std::int64_t n, std::int64_t begin, std::int64_t end,
              const float* rows, float beta, float* to) {
  const auto sum = [&](std::int64_t at, auto load_from) TRIVET_CPU_INLINE {
    V total = load_from(rows + at);
    for (std::int64_t r = 1; r < count; ++r) total = hn::Add(total, load_from(rows + r * n + at));
    return beta == 0 ? total : hn::Add(load_from(to + at), total);
  };
  const auto step = static_cast<std::int64_t>(lanes());
  for (; begin + step <= end; begin += step) store(sum(begin, load), to + begin);
  if (begin == end) return;
  const auto rest = static_cast<std::size_t>(end - begin);
  const auto load_rest = [=](const float* from) TRIVET_CPU_INLINE { return load_part(from, rest); };
  store_part(sum(begin, load_rest), to + begin, rest);
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {
namespace {

HWY_EXPORT(input);
HWY_EXPORT(output_grad);
HWY_EXPORT(output);
HWY_EXPORT(filter_part);
HWY_EXPORT(filter_grad_part);
HWY_EXPORT(sum_part);

}  // namespace

void transform_input(const TileGrid& grid, const TileRange& tiles, const float* images,
                     const float* zeros, const TileMatrices& to) {
  HWY_DYNAMIC_DISPATCH(input)(grid, tiles, images, zeros, to);
}

void transform_output_grad(const TileGrid& grid, const TileRange& tiles, const float* dz,
                           const float* zeros, const TileMatrices& to) {
  HWY_DYNAMIC_DISPATCH(output_grad)(grid, tiles, dz, zeros, to);
}

void transform_output(const TileGrid& grid, const TileRange& tiles, const TileMatrices& from,
                      const float* bias, bool relu, float* images) {
  HWY_DYNAMIC_DISPATCH(output)(grid, tiles, from, bias, relu, images);
}

void transform_filter(std::int64_t count, std::int64_t begin, std::int64_t end, const float* filter,
                      bool reversed, float* to) {
  HWY_DYNAMIC_DISPATCH(filter_part)(count, begin, end, filter, reversed, to);
}

void transform_filter_grad(std::int64_t in, std::int64_t out, std::int64_t step, const float* from,
                           float* to) {
  HWY_DYNAMIC_DISPATCH(filter_grad_part)(in, out, step, from, to);
}

void sum_rows(std::int64_t count, std::int64_t n, std::int64_t begin, std::int64_t end,
              const float* rows, float beta, float* to) {
  HWY_DYNAMIC_DISPATCH(sum_part)(count, n, begin, end, rows, beta, to);
}

}  // namespace cpu
#endif
