// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/products/packing.cpp"
#include <hwy/foreach_target.h>

#include "cpu/products/packing.h"

#include <algorithm>

#include <hwy/cache_control.h>

#include "cpu/support/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

using F4 = hn::FixedTag<float, 4>;
using F2 = hn::FixedTag<float, 2>;

// to[c * to_step + r] = from[r * step + c] for r < kCount (2 or 4) and c < 4.
template <std::int64_t kCount>
HWY_INLINE void transpose_4(const float* from, std::int64_t step, float* to, std::int64_t to_step) {
  const F4 f4;
  const F2 f2;
  const auto x0 = hn::LoadU(f4, from), x1 = hn::LoadU(f4, from + step);
  if constexpr (kCount == 2) {
    const auto low = hn::InterleaveLower(f4, x0, x1), high = hn::InterleaveUpper(f4, x0, x1);
    hn::StoreU(hn::LowerHalf(f2, low), f2, to);
    hn::StoreU(hn::UpperHalf(f2, low), f2, to + to_step);
    hn::StoreU(hn::LowerHalf(f2, high), f2, to + 2 * to_step);
    hn::StoreU(hn::UpperHalf(f2, high), f2, to + 3 * to_step);
  } else {
    const auto x2 = hn::LoadU(f4, from + 2 * step), x3 = hn::LoadU(f4, from + 3 * step);
    const auto low02 = hn::InterleaveLower(f4, x0, x2), low13 = hn::InterleaveLower(f4, x1, x3);
    const auto high02 = hn::InterleaveUpper(f4, x0, x2), high13 = hn::InterleaveUpper(f4, x1, x3);
    hn::StoreU(hn::InterleaveLower(f4, low02, low13), f4, to);
    hn::StoreU(hn::InterleaveUpper(f4, low02, low13), f4, to + to_step);
    hn::StoreU(hn::InterleaveLower(f4, high02, high13), f4, to + 2 * to_step);
    hn::StoreU(hn::InterleaveUpper(f4, high02, high13), f4, to + 3 * to_step);
  }
}

// to[k * kWidth + r] = from[r * step + k] for r < valid, and 0 for other r. `next` rows follow, and
// are fetched.
template <std::int64_t kWidth>
void pack_transposed(const float* from, std::int64_t step, std::int64_t valid, std::int64_t next,
                     std::int64_t depth, float* to) {
  constexpr std::int64_t kLine = 16;  // floats of a cache line
  constexpr std::int64_t kFours = kWidth / 4 * 4, kRest = kWidth - kFours;
  const std::int64_t whole = depth / 4 * 4, fours = valid / 4 * 4;
  for (std::int64_t k = 0; k < whole; k += 4) {
    float* at = to + k * kWidth;
    for (std::int64_t r = 0; k % kLine == 0 && r < next; ++r) {
      hwy::Prefetch(from + (kWidth + r) * step + k);
    }
    for (std::int64_t r = 0; r < fours; r += 4) {
      transpose_4<4>(from + r * step + k, step, at + r, kWidth);
    }
    if constexpr (kRest > 0) {
      if (valid == kWidth) {
        transpose_4<kRest>(from + kFours * step + k, step, at + kFours, kWidth);
      }
    }
  }
  const std::int64_t done = valid == kWidth ? kWidth : fours;
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t r = k < whole ? done : 0; r < kWidth; ++r) {
      to[k * kWidth + r] = r < valid ? from[r * step + k] : 0;
    }
  }
}

// Copies kCount floats in the largest vectors that fit.
template <std::int64_t kCount>
HWY_INLINE void copy_floats(const float* from, float* to) {
  constexpr std::int64_t kPart = kCount >= kLanes ? kLanes : kCount >= 8 ? 8 : kCount >= 4 ? 4 : 2;
  const hn::FixedTag<float, kPart> part;
  hn::StoreU(hn::LoadU(part, from), part, to);
  if constexpr (kCount > kPart) copy_floats<kCount - kPart>(from + kPart, to + kPart);
}

// For each run of kWidth columns: to[k * kWidth + c] = from[k * step + c]; 0 beyond the last of the
// `count` columns. Reads whole rows, which caches fetch ahead.
template <std::int64_t kWidth>
void pack_straight(const float* from, std::int64_t step, std::int64_t count, std::int64_t depth,
                   float* to) {
  for (std::int64_t k = 0; k < depth; ++k, from += step, to += kWidth) {
    std::int64_t at = 0;
    for (; at + kWidth <= count; at += kWidth) copy_floats<kWidth>(from + at, to + at * depth);
    for (std::int64_t c = 0; at < count && c < kWidth; ++c) {
      to[at * depth + c] = at + c < count ? from[at + c] : 0;
    }
  }
}

// For each run of kWidth rows: to[k * kWidth + r] = from[r * step + k]. Runs have `between`
// positions in `to`.
template <std::int64_t kWidth>
void pack_transposed_runs(const float* from, std::int64_t step, std::int64_t count,
                          std::int64_t depth, std::int64_t between, float* to) {
  for (std::int64_t r = 0; r < count; r += kWidth) {
    const std::int64_t next = std::clamp<std::int64_t>(count - r - kWidth, 0, kWidth);
    pack_transposed<kWidth>(from + r * step, step, std::min(kWidth, count - r), next, depth,
                            to + r * between);
  }
}

void pack_strips(Transpose transpose, std::int64_t m, std::int64_t k, const float* from,
                 std::int64_t step, float* to) {
  if (transpose == Transpose::yes) {
    pack_straight<kRows>(from, step, m, k, to);
  } else {
    pack_transposed_runs<kRows>(from, step, m, k, k, to);
  }
}

void pack_strip_part(std::int64_t m, std::int64_t k, const float* from, std::int64_t step,
                     std::int64_t begin, std::int64_t depth, float* to) {
  pack_transposed_runs<kRows>(from, step, m, k, depth, to + begin * kRows);
}

void pack_panels(Transpose transpose, std::int64_t k, std::int64_t n, const float* from,
                 std::int64_t step, float* to) {
  if (transpose == Transpose::yes) {
    pack_transposed_runs<kColumns>(from, step, n, k, k, to);
  } else {
    pack_straight<kColumns>(from, step, n, k, to);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {
namespace {

HWY_EXPORT(pack_strips);
HWY_EXPORT(pack_strip_part);
HWY_EXPORT(pack_panels);

}  // namespace

void pack_left(Transpose transpose, std::int64_t m, std::int64_t k, const float* from,
               std::int64_t step, float* to) {
  HWY_DYNAMIC_DISPATCH(pack_strips)(transpose, m, k, from, step, to);
}

void pack_left_part(std::int64_t m, std::int64_t k, const float* from, std::int64_t step,
                    std::int64_t begin, std::int64_t depth, float* to) {
  HWY_DYNAMIC_DISPATCH(pack_strip_part)(m, k, from, step, begin, depth, to);
}

void pack_right(Transpose transpose, std::int64_t k, std::int64_t n, const float* from,
                std::int64_t step, float* to) {
  HWY_DYNAMIC_DISPATCH(pack_panels)(transpose, k, n, from, step, to);
}

}  // namespace cpu
#endif
