// SPDX-License-Identifier: Apache-2.0
// fill and copy: every type, any strides. Rows that are contiguous on both sides are copied by
// memcpy. The rest are transposes, done in square blocks that fit the first-level cache.

#include <cmath>
#include <cstring>
#include <limits>

#include <trivet/backend/half.h>

#include "cpu/support/context.h"
#include "cpu/support/kernels.h"
#include "cpu/support/walk.h"

namespace cpu {
namespace {

// Distinct storage types, so that conversions can be selected by type.
struct Bf16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};
struct Bool {
  std::uint8_t byte;
};

float number(float x) {
  return x;
}
float number(Bf16 x) {
  return trivet::float_from_bf16(x.bits);
}
float number(F16 x) {
  return trivet::float_from_f16(x.bits);
}
std::int64_t number(std::int32_t x) {
  return x;
}
std::int64_t number(std::uint32_t x) {
  return x;
}
std::int64_t number(std::uint8_t x) {
  return x;
}
std::int64_t number(Bool x) {
  return x.byte;
}

// From a float: rounds toward zero and saturates. From an integer: keeps the low bits.
template <typename To>
To integer_from(float x) {
  constexpr float kBelow = static_cast<float>(std::numeric_limits<To>::min());
  constexpr float kBeyond = static_cast<float>(std::uint64_t{std::numeric_limits<To>::max()} + 1);
  if (!(x > kBelow)) return std::isnan(x) ? To{0} : std::numeric_limits<To>::min();
  return x >= kBeyond ? std::numeric_limits<To>::max() : static_cast<To>(x);
}
template <typename To>
To integer_from(std::int64_t x) {
  return static_cast<To>(x);
}

template <typename To, typename Number>
To convert(Number x) {
  if constexpr (std::is_same_v<To, float>) return static_cast<float>(x);
  if constexpr (std::is_same_v<To, Bf16>) return {trivet::bf16_from_float(static_cast<float>(x))};
  if constexpr (std::is_same_v<To, F16>) return {trivet::f16_from_float(static_cast<float>(x))};
  if constexpr (std::is_same_v<To, Bool>) return {static_cast<std::uint8_t>(x != 0)};
  if constexpr (std::is_integral_v<To>) return integer_from<To>(x);
}

// Calls f with a null pointer of the dtype's C++ type.
template <typename F>
void with_type(int dtype, const F& f) {
  switch (dtype) {
    case TV_F32:
      return f(static_cast<float*>(nullptr));
    case TV_BF16:
      return f(static_cast<Bf16*>(nullptr));
    case TV_F16:
      return f(static_cast<F16*>(nullptr));
    case TV_I32:
      return f(static_cast<std::int32_t*>(nullptr));
    case TV_U32:
      return f(static_cast<std::uint32_t*>(nullptr));
    case TV_U8:
      return f(static_cast<std::uint8_t*>(nullptr));
    default:
      return f(static_cast<Bool*>(nullptr));
  }
}

template <typename To, typename From>
void cast_run(std::int64_t n, To* dst, std::int64_t to, const From* src, std::int64_t from) {
  if (to == 1 && from == 1) {
    for (std::int64_t i = 0; i < n; ++i) dst[i] = convert<To>(number(src[i]));
  } else {
    for (std::int64_t i = 0; i < n; ++i) dst[i * to] = convert<To>(number(src[i * from]));
  }
}

void cast(tv_ctx* ctx, const tv_view& dst, const tv_view& src) {
  const auto w = collapse<2>(dst, {&dst, &src});
  with_type(dst.dtype, [&](auto* to) {
    with_type(src.dtype, [&](auto* from) {
      using To = std::remove_pointer_t<decltype(to)>;
      using From = std::remove_pointer_t<decltype(from)>;
      for_each_run(ctx, w, [&](const std::int64_t* offset, std::int64_t n) {
        cast_run(n, data<To>(dst) + offset[0], w.step(0), data<From>(src) + offset[1], w.step(1));
      });
    });
  });
}

template <typename T>
void move_run(std::int64_t n, T* dst, std::int64_t to, const T* src, std::int64_t from) {
  if (to == 1 && from == 1) {
    std::memcpy(dst, src, static_cast<std::size_t>(n) * sizeof(T));
  } else if (to == 1 && from == 0) {
    std::fill_n(dst, n, *src);
  } else {
    for (std::int64_t i = 0; i < n; ++i) dst[i * to] = src[i * from];
  }
}

// Returns the axis (not the last) along which the source is contiguous while the destination's last
// axis is: a transpose. Returns -1 if no axis is.
int transposed_axis(const Walk<2>& w) {
  if (w.rank < 2 || w.step(0) != 1 || w.step(1) <= 1) return -1;
  for (int axis = 0; axis + 1 < w.rank; ++axis) {
    if (w.stride[1][axis] == 1) return axis;
  }
  return -1;
}

constexpr std::int64_t kBlock = 16;

template <typename T>
void transpose_block(std::int64_t rows, std::int64_t cols, T* dst, std::int64_t dst_row,
                     const T* src, std::int64_t src_col) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) dst[r * dst_row + c] = src[c * src_col + r];
  }
}

// Moves `axis` next to the last one and walks the two in blocks.
template <typename T>
void transpose(tv_ctx* ctx, Walk<2> w, int axis, T* dst, const T* src) {
  const int row = w.rank - 2, col = w.rank - 1;
  std::swap(w.shape[axis], w.shape[row]);
  for (auto& stride : w.stride) std::swap(stride[axis], stride[row]);
  const std::int64_t height = w.shape[row], width = w.shape[col];
  const std::int64_t strips = ceil_div(height, kBlock),
                     outer = w.rows / std::max<std::int64_t>(1, height);
  parallel(ctx, outer * strips, row_grain(kBlock * width), [&](auto begin, auto end, auto) {
    for (std::int64_t task = begin; task < end; ++task) {
      std::int64_t index = task / strips;
      const std::int64_t r = task % strips * kBlock;
      std::int64_t to = r * w.stride[0][row], from = r * w.stride[1][row];
      for (int a = row - 1; a >= 0; --a) {
        to += index % w.shape[a] * w.stride[0][a];
        from += index % w.shape[a] * w.stride[1][a];
        index /= w.shape[a];
      }
      for (std::int64_t c = 0; c < width; c += kBlock) {
        transpose_block(std::min(kBlock, height - r), std::min(kBlock, width - c), dst + to + c,
                        w.stride[0][row], src + from + c * w.stride[1][col], w.stride[1][col]);
      }
    }
  });
}

template <typename T>
void move(tv_ctx* ctx, const tv_view& dst, const tv_view& src) {
  const auto w = collapse<2>(dst, {&dst, &src});
  if (w.rows == 0 || w.length == 0) return;
  const int axis = transposed_axis(w);
  if (axis >= 0) return transpose(ctx, w, axis, data<T>(dst), data<T>(src));
  for_each_run(ctx, w, [&](const std::int64_t* offset, std::int64_t n) {
    move_run(n, data<T>(dst) + offset[0], w.step(0), data<T>(src) + offset[1], w.step(1));
  });
}

}  // namespace

tv_status fill(tv_ctx* ctx, const tv_view* dst, double value) {
  with_type(dst->dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    T one;
    if constexpr (std::is_integral_v<T>) {
      const double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
      one = std::isnan(value) ? T{0} : static_cast<T>(std::clamp(value, low, high));
    } else {
      one = convert<T>(static_cast<float>(value));
    }
    parallel(ctx, element_count(*dst), kGrain, [&](auto begin, auto end, auto) {
      std::fill(data<T>(*dst) + begin, data<T>(*dst) + end, one);
    });
  });
  return TV_OK;
}

tv_status copy(tv_ctx* ctx, const tv_view* dst, const tv_view* src) {
  if (dst->dtype != src->dtype) {
    cast(ctx, *dst, *src);
  } else if (dtype_size(dst->dtype) == 4) {
    move<std::uint32_t>(ctx, *dst, *src);
  } else if (dtype_size(dst->dtype) == 2) {
    move<std::uint16_t>(ctx, *dst, *src);
  } else {
    move<std::uint8_t>(ctx, *dst, *src);
  }
  return TV_OK;
}

}  // namespace cpu
