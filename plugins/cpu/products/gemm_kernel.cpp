// SPDX-License-Identifier: Apache-2.0
// A tile of kRows rows times two vectors of columns stays in registers while it runs along k. The
// blocking of caches follows Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication" (2008): a panel of the right factor stays in the first cache, some rows of the
// left factor in the second one.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/products/gemm_kernel.cpp"
#include <hwy/foreach_target.h>

#include "cpu/products/gemm_kernel.h"

#include <algorithm>

#include <hwy/cache_control.h>

#include "cpu/support/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cpu {
namespace HWY_NAMESPACE {

inline constexpr std::int64_t kBlockRows = 120;  // 180 KiB of the left factor with a depth of 384
static_assert(kRowStep % kRows == 0 && kColumnStep % kColumns == 0 && kBlockRows % kRows == 0);

// A tile of C: some rows and up to kColumns columns.
struct Tile {
  const BlockProduct* p;
  const float *left, *right;  // from its first row, from its first column
  std::int64_t right_step;    // between rows of the right factor
  float* c;
  std::int64_t columns;
  std::int64_t depth;

  float* row(std::size_t r) const { return c + static_cast<std::int64_t>(r) * p->ldc; }
};

template <int kCount>
HWY_INLINE void store_tile(const V (&s)[kCount][2], const Tile& t) {
  const V alpha = set(t.p->alpha), beta = set(t.p->beta);
  const bool adds = t.p->beta != 0;
  if (t.columns >= kColumns) {
    unrolled<kCount>([&](auto r) TRIVET_CPU_INLINE {
      float* c = t.row(r);
      V low = hn::Mul(alpha, s[r][0]), high = hn::Mul(alpha, s[r][1]);
      if (adds) {
        low = hn::MulAdd(beta, load(c), low);
        high = hn::MulAdd(beta, load(c + kLanes), high);
      }
      store(low, c), store(high, c + kLanes);
    });
    return;
  }
  HWY_ALIGN float part[kColumns] = {};
  unrolled<kCount>([&](auto r) TRIVET_CPU_INLINE {
    float* c = t.row(r);
    V low = hn::Mul(alpha, s[r][0]), high = hn::Mul(alpha, s[r][1]);
    if (adds) {
      std::copy_n(c, t.columns, part);
      low = hn::MulAdd(beta, hn::Load(F32(), part), low);
      high = hn::MulAdd(beta, hn::Load(F32(), part + kLanes), high);
    }
    hn::Store(low, F32(), part), hn::Store(high, F32(), part + kLanes);
    std::copy_n(part, t.columns, c);
  });
}

template <int kCount, Layout kLeft>
HWY_INLINE void multiply_tile(const Tile& t) {
  V s[kCount][2];
  unrolled<kCount>([&](auto r) TRIVET_CPU_INLINE {
    s[r][0] = s[r][1] = set(0);
    hwy::Prefetch(t.row(r));
  });
  // Element (r, k) of the left factor is at r * down + k * along.
  const std::int64_t down = kLeft == Layout::rows ? t.p->left.step : 1;
  const std::int64_t along = kLeft == Layout::packed ? kRows
                             : kLeft == Layout::rows ? 1
                                                     : t.p->left.step;
  const std::int64_t right_step = t.right_step;
  const float *left = t.left, *right = t.right;
  const auto step = [&](std::int64_t k) TRIVET_CPU_INLINE {
    const float* const columns = right + k * right_step;
    const V low = load(columns), high = load(columns + kLanes);
    unrolled<kCount>([&](auto r) TRIVET_CPU_INLINE {
      const V x = set(left[static_cast<std::int64_t>(r) * down + k * along]);
      s[r][0] = hn::MulAdd(x, low, s[r][0]);
      s[r][1] = hn::MulAdd(x, high, s[r][1]);
    });
  };
  const std::int64_t depth = t.depth;
  std::int64_t k = 0;
  for (; k + 4 <= depth; k += 4, left += 4 * along, right += 4 * right_step) {
    step(0), step(1), step(2), step(3);
  }
  for (; k < depth; ++k, left += along, right += right_step) step(0);
  store_tile(s, t);
}

template <int kCount, Layout kLeft>
void multiply_last_rows(std::int64_t count, const Tile& t) {
  if (count == kCount) return multiply_tile<kCount, kLeft>(t);
  if constexpr (kCount > 1) multiply_last_rows<kCount - 1, kLeft>(count, t);
}

// Leaves out what is skipped for `count` rows from `row`. False if the tile, which ends at
// `last_column`, is not wanted.
template <Layout kLeft>
HWY_INLINE bool skip_hidden(Tile& t, std::int64_t row, std::int64_t count,
                            std::int64_t last_column) {
  const std::int64_t diagonal = t.p->diagonal;
  switch (t.p->skip) {
    case Skip::none:
      break;
    case Skip::columns:
      return last_column >= row + diagonal;
    case Skip::depth_after:
      t.depth = std::clamp<std::int64_t>(row + count - diagonal, 0, t.p->k);
      break;
    case Skip::depth_before: {
      const std::int64_t begin = std::clamp<std::int64_t>(row + diagonal, 0, t.p->k);
      const std::int64_t along = kLeft == Layout::packed ? kRows
                                 : kLeft == Layout::rows ? 1
                                                         : t.p->left.step;
      t.left += begin * along, t.right += begin * t.right_step, t.depth = t.p->k - begin;
      break;
    }
  }
  return true;
}

// Rows of C from `row` times the panel that starts at column `column`, from tile t.
template <Layout kLeft>
void multiply_rows(std::int64_t row, std::int64_t rows, std::int64_t column, const Tile& from) {
  const std::int64_t between = (kLeft == Layout::columns ? 1 : from.p->left.step);
  for (std::int64_t i = 0; i < rows; i += kRows) {
    const std::int64_t count = std::min<std::int64_t>(kRows, rows - i);
    Tile t = from;
    t.left += i * between, t.c += i * t.p->ldc;
    if (!skip_hidden<kLeft>(t, row + i, count, column + kColumns - 1)) continue;
    if (count == kRows) {
      multiply_tile<kRows, kLeft>(t);
    } else {
      multiply_last_rows<kRows - 1, kLeft>(count, t);
    }
  }
}

// Element (r, k) of a left factor is at r * down + k * along.
struct LeftStrides {
  explicit LeftStrides(const Factor& left)
      : down(left.layout == Layout::rows ? left.step : 1),
        along(left.layout == Layout::packed ? kRows
              : left.layout == Layout::rows ? 1
                                            : left.step) {}
  std::int64_t down, along;
};

inline constexpr std::int64_t kThinColumns = 512;

// Up to kThinColumns columns of a product of few rows with a right factor where it lies. Its rows
// are read as streams, as memory likes it; the sums are in the first cache.
template <int kCount>
void multiply_thin(const BlockProduct& p, std::int64_t column, std::int64_t columns) {
  constexpr int kSteps = 4;  // along k at a time
  HWY_ALIGN float sums[kCount][kThinColumns];
  for (float(&row)[kThinColumns] : sums) std::fill_n(row, columns, 0.0f);
  const LeftStrides left(p.left);
  const auto add_rows = [&](auto steps, std::int64_t k) TRIVET_CPU_INLINE {
    constexpr int kNow = decltype(steps)::value;
    const float* const right = p.right.data + k * p.right.step + column;
    V x[kCount][kNow];
    unrolled<kCount>([&](auto r) TRIVET_CPU_INLINE {
      unrolled<kNow>([&](auto i) TRIVET_CPU_INLINE {
        const auto row = static_cast<std::int64_t>(r), at = k + static_cast<std::int64_t>(i);
        x[r][i] = set(p.left.data[row * left.down + at * left.along]);
      });
    });
    for (std::int64_t c = 0; c < columns; c += kLanes) {
      V y[kNow];
      unrolled<kNow>([&](auto i) TRIVET_CPU_INLINE {
        const float* const at = right + static_cast<std::int64_t>(i) * p.right.step + c;
        y[i] = load(at);
        hwy::Prefetch(at + 2 * kNow * p.right.step);
      });
      unrolled<kCount>([&](auto r) TRIVET_CPU_INLINE {
        V sum = hn::Load(F32(), sums[r] + c);
        unrolled<kNow>([&](auto i) TRIVET_CPU_INLINE { sum = hn::MulAdd(x[r][i], y[i], sum); });
        hn::Store(sum, F32(), sums[r] + c);
      });
    }
  };
  std::int64_t k = 0;
  for (; k + kSteps <= p.k; k += kSteps) add_rows(std::integral_constant<int, kSteps>(), k);
  for (; k < p.k; ++k) add_rows(std::integral_constant<int, 1>(), k);
  const V alpha = set(p.alpha), beta = set(p.beta);
  for (int r = 0; r < kCount; ++r) {
    float* const to = p.c + r * p.ldc + column;
    for (std::int64_t c = 0; c < columns; c += kLanes) {
      V x = hn::Mul(alpha, hn::Load(F32(), sums[r] + c));
      if (p.beta != 0) x = hn::MulAdd(beta, load(to + c), x);
      store(x, to + c);
    }
  }
}

// v[r] holds positions k .. k + kLanes - 1 of row r; afterwards v[i] holds position k + i of all
// rows.
HWY_INLINE void transpose_lanes(V (&v)[kLanes]) {
  const F32 d;
  // First blocks of 4 lanes are transposed as if they were elements, then the lanes in each.
  if constexpr (kLanes == 16) {
    unrolled<4>([&](auto r) TRIVET_CPU_INLINE {
      const V v0 = v[r], v1 = v[4 + r], v2 = v[8 + r], v3 = v[12 + r];
      const V even01 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(v1), v0);
      const V odd01 = hn::OddEvenBlocks(v1, hn::SwapAdjacentBlocks(v0));
      const V even23 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(v3), v2);
      const V odd23 = hn::OddEvenBlocks(v3, hn::SwapAdjacentBlocks(v2));
      v[r] = hn::ConcatLowerLower(d, even23, even01);
      v[4 + r] = hn::ConcatLowerLower(d, odd23, odd01);
      v[8 + r] = hn::ConcatUpperUpper(d, even23, even01);
      v[12 + r] = hn::ConcatUpperUpper(d, odd23, odd01);
    });
  } else if constexpr (kLanes == 8) {
    unrolled<4>([&](auto r) TRIVET_CPU_INLINE {
      const V v0 = v[r], v1 = v[4 + r];
      v[r] = hn::ConcatLowerLower(d, v1, v0), v[4 + r] = hn::ConcatUpperUpper(d, v1, v0);
    });
  }
  unrolled<static_cast<int>(kLanes / 4)>([&](auto q) TRIVET_CPU_INLINE {
    V* const w = v + 4 * q;
    const V low02 = hn::InterleaveLower(d, w[0], w[2]), low13 = hn::InterleaveLower(d, w[1], w[3]);
    const V high02 = hn::InterleaveUpper(d, w[0], w[2]);
    const V high13 = hn::InterleaveUpper(d, w[1], w[3]);
    w[0] = hn::InterleaveLower(d, low02, low13), w[1] = hn::InterleaveUpper(d, low02, low13);
    w[2] = hn::InterleaveLower(d, high02, high13), w[3] = hn::InterleaveUpper(d, high02, high13);
  });
}

// A product of few rows with a right factor of layout `columns`, where it lies. Lanes are columns,
// so that each is one sum over k in order.
template <int kCount>
void multiply_thin_columns(const BlockProduct& p) {
  constexpr int kSteps = static_cast<int>(kLanes);
  const LeftStrides left(p.left);
  const V alpha = set(p.alpha), beta = set(p.beta);
  for (std::int64_t column = 0; column < p.n; column += kLanes) {
    const float* columns[kLanes];
    for (std::int64_t i = 0; i < kLanes; ++i) {
      columns[i] = p.right.data + std::min(column + i, p.n - 1) * p.right.step;
    }
    V s[kCount];
    unrolled<kCount>([&](auto r) TRIVET_CPU_INLINE { s[r] = set(0); });
    const auto add = [&](std::int64_t k, V y) TRIVET_CPU_INLINE {
      unrolled<kCount>([&](auto r) TRIVET_CPU_INLINE {
        const float x = p.left.data[static_cast<std::int64_t>(r) * left.down + k * left.along];
        s[r] = hn::MulAdd(set(x), y, s[r]);
      });
    };
    std::int64_t k = 0;
    V v[kLanes];
    for (; k + kLanes <= p.k; k += kLanes) {
      unrolled<kSteps>([&](auto i) TRIVET_CPU_INLINE {
        v[i] = load(columns[i] + k);
        hwy::Prefetch(columns[i] + kLanes * p.right.step + k);
      });
      transpose_lanes(v);
      unrolled<kSteps>([&](auto i)
                           TRIVET_CPU_INLINE { add(k + static_cast<std::int64_t>(i), v[i]); });
    }
    if (const std::int64_t rest = p.k - k; rest > 0) {
      HWY_ALIGN float last[kLanes * kLanes];
      for (std::int64_t i = 0; i < kLanes; ++i) {
        v[i] = load_part(columns[i] + k, static_cast<std::size_t>(rest));
      }
      transpose_lanes(v);
      for (std::int64_t i = 0; i < kLanes; ++i) hn::Store(v[i], F32(), last + i * kLanes);
      for (std::int64_t i = 0; i < rest; ++i) add(k + i, hn::Load(F32(), last + i * kLanes));
    }
    const auto count = static_cast<std::size_t>(std::min(kLanes, p.n - column));
    for (int r = 0; r < kCount; ++r) {
      float* const to = p.c + r * p.ldc + column;
      const bool whole = count == lanes();
      V x = hn::Mul(alpha, s[r]);
      if (p.beta != 0) x = hn::MulAdd(beta, whole ? load(to) : load_part(to, count), x);
      whole ? store(x, to) : store_part(x, to, count);
    }
  }
}

template <int kCount>
void multiply_thin_rows(const BlockProduct& p) {
  if (p.right.layout == Layout::columns) return multiply_thin_columns<kCount>(p);
  for (std::int64_t column = 0; column < p.n; column += kThinColumns) {
    multiply_thin<kCount>(p, column, std::min(kThinColumns, p.n - column));
  }
}

template <int kCount>
void multiply_thin_count(const BlockProduct& p) {
  if (p.m == kCount) return multiply_thin_rows<kCount>(p);
  if constexpr (kCount > 1) multiply_thin_count<kCount - 1>(p);
}

void multiply_few_rows(BlockProduct p) {
  if (p.skip == Skip::depth_after) p.k = std::clamp<std::int64_t>(p.m - p.diagonal, 0, p.k);
  multiply_thin_count<kThinRows>(p);
}

// Measured. A tile of more rows reads each element of the right factor less often, which leaves
// more loads to a left factor that is not packed.
std::int64_t columns_in_place(Transpose left) {
  const bool transposed = left == Transpose::yes;
  if constexpr (kRows == kRowStep) return transposed ? 384 : 1024;
  return transposed ? 64 : 384;
}

std::int64_t panel_columns() {
  return kColumns;
}
std::int64_t strip_rows() {
  return kRows;
}

void multiply(const BlockProduct& p) {
  const bool packed = p.right.layout == Layout::packed;
  if (!packed && p.m <= kThinRows && (p.skip == Skip::none || p.skip == Skip::depth_after)) {
    return multiply_few_rows(p);
  }
  Tile t = {&p, nullptr, nullptr, packed ? kColumns : p.right.step, nullptr, 0, p.k};
  for (std::int64_t i = 0; i < p.m; i += kBlockRows) {
    const std::int64_t rows = std::min(kBlockRows, p.m - i);
    t.left = p.left.after_rows(i).data;
    for (std::int64_t j = 0; j < p.n; j += kColumns) {
      t.right = p.right.after_columns(j).data;
      t.c = p.c + i * p.ldc + j, t.columns = p.n - j;
      switch (p.left.layout) {
        case Layout::packed:
          multiply_rows<Layout::packed>(i, rows, j, t);
          break;
        case Layout::rows:
          multiply_rows<Layout::rows>(i, rows, j, t);
          break;
        case Layout::columns:
          multiply_rows<Layout::columns>(i, rows, j, t);
          break;
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpu {
namespace {

HWY_EXPORT(columns_in_place);
HWY_EXPORT(panel_columns);
HWY_EXPORT(strip_rows);
HWY_EXPORT(multiply);

}  // namespace

std::int64_t most_columns_in_place(Transpose left) {
  return HWY_DYNAMIC_DISPATCH(columns_in_place)(left);
}

Factor packed_after_depth(const Factor& right, std::int64_t count) {
  return {right.data + count * HWY_DYNAMIC_DISPATCH(panel_columns)(), right.step, Layout::packed};
}

Factor left_after_depth(const Factor& left, std::int64_t count) {
  return {left.data + count * HWY_DYNAMIC_DISPATCH(strip_rows)(), left.step, Layout::packed};
}

void multiply_block(const BlockProduct& p) {
  HWY_DYNAMIC_DISPATCH(multiply)(p);
}

}  // namespace cpu
#endif
