// SPDX-License-Identifier: Apache-2.0
// rope: rotary positions (Su et al. 2021). Sines and cosines are computed in double precision, once
// for each position that may occur, and used by all heads and rows.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/rope.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/support/context.h"
#include "cpu/support/kernels.h"
#include "cpu/support/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

// (a, b) -> (a cos - b sin, b cos + a sin), n pairs; in place if wanted.
void turn_pairs(std::int64_t n, const float* a, const float* b, const float* cosine,
                const float* sine, float* a_out, float* b_out) {
  const auto count = static_cast<std::size_t>(n), step = lanes();
  std::size_t i = 0;
  for (; i + step <= count; i += step) {
    const V x = load(a + i), y = load(b + i), c = load(cosine + i), s = load(sine + i);
    store(hn::NegMulAdd(y, s, hn::Mul(x, c)), a_out + i);
    store(hn::MulAdd(x, s, hn::Mul(y, c)), b_out + i);
  }
  for (; i < count; ++i) {
    const float x = a[i], y = b[i];
    a_out[i] = x * cosine[i] - y * sine[i];
    b_out[i] = y * cosine[i] + x * sine[i];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {
namespace {

HWY_EXPORT(turn_pairs);

bool is_contiguous(const tv_view& v) {
  std::int64_t expected = 1;
  for (int axis = v.rank - 1; axis >= 0; --axis) {
    if (v.shape[axis] != 1 && v.stride[axis] != expected) return false;
    expected *= v.shape[axis];
  }
  return true;
}

// Cosines and sines of the angles, [positions, 2, half]: for each position between the lowest and
// the highest, or for each element if positions are far apart.
class Angles {
 public:
  Angles(tv_ctx* ctx, const tv_rope& rope, std::int64_t positions) : half_(rope.rotary / 2) {
    const auto [low, high] = std::minmax_element(rope.positions, rope.positions + positions);
    first_ = *low;
    const std::int64_t range = std::int64_t{*high} - *low + 1;
    by_position_ = range <= positions;
    const std::int64_t rows = by_position_ ? range : positions;
    table_ = scratch(ctx, 2 * half_ * rows);
    parallel(ctx, rows, row_grain(64 * half_), [&](auto begin, auto end, auto) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t position = by_position_ ? first_ + row : rope.positions[row];
        fill(rope, position, table_ + 2 * half_ * row);
      }
    });
  }

  const float* cosines(const tv_rope& rope, std::int64_t position) const {
    const std::int64_t row = by_position_ ? rope.positions[position] - first_ : position;
    return table_ + 2 * half_ * row;
  }
  std::int64_t half() const { return half_; }

 private:
  void fill(const tv_rope& rope, std::int64_t position, float* row) const {
    for (std::int64_t i = 0; i < half_; ++i) {
      const double share = 2 * static_cast<double>(i) / static_cast<double>(rope.rotary);
      const double angle = static_cast<double>(rope.sign) * static_cast<double>(position) *
                           std::pow(static_cast<double>(rope.theta), -share);
      row[i] = static_cast<float>(std::cos(angle));
      row[half_ + i] = static_cast<float>(std::sin(angle));
    }
  }

  std::int64_t half_, first_ = 0;
  bool by_position_ = true;
  float* table_ = nullptr;
};

}  // namespace

tv_status rope(tv_ctx* ctx, const tv_rope* args) {
  const tv_view &x = args->x, &out = args->out;
  if (!is_f32(x) || !is_f32(out) || !is_contiguous(x) || !is_contiguous(out)) {
    return TV_UNSUPPORTED;
  }
  const std::int64_t positions = x.shape[0] * x.shape[1], heads = x.shape[2], width = x.shape[3];
  if (element_count(x) == 0) return TV_OK;
  const Angles angles(ctx, *args, positions);
  const std::int64_t half = angles.half();
  parallel(ctx, positions, row_grain(heads * width), [&](auto begin, auto end, auto) {
    for (std::int64_t position = begin; position < end; ++position) {
      const float* cosines = angles.cosines(*args, position);
      for (std::int64_t head = 0; head < heads; ++head) {
        const std::int64_t at = (position * heads + head) * width;
        const float* from = data<float>(x) + at;
        float* to = data<float>(out) + at;
        HWY_DYNAMIC_DISPATCH(turn_pairs)
        (half, from, from + half, cosines, cosines + half, to, to + half);
        if (to == from || width == 2 * half) continue;
        std::memcpy(to + 2 * half, from + 2 * half,
                    static_cast<std::size_t>(width - 2 * half) * sizeof(float));
      }
    }
  });
  return TV_OK;
}

}  // namespace cpu
#endif
