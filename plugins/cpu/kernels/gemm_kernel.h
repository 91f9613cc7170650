// SPDX-License-Identifier: Apache-2.0
// The inner loops of matrix products: packing of factors, and the product of a block of the depth
// with sums that stay in registers. On the calling thread, without memory of their own.
#pragma once

#include <cstdint>

namespace cpu {

// How a factor lies in memory.
enum class Transpose : bool { no, yes };

// Rows of the left factor and columns of the right one start at multiples of these, so that they
// start a strip or a panel on every instruction set.
inline constexpr std::int64_t kRowStep = 12;
inline constexpr std::int64_t kColumnStep = 32;
// So few rows read a right factor where it lies as fast as memory delivers it.
inline constexpr std::int64_t kThinRows = 8;

constexpr std::int64_t whole_rows(std::int64_t m) {
  return (m + kRowStep - 1) / kRowStep * kRowStep;
}
constexpr std::int64_t whole_columns(std::int64_t n) {
  return (n + kColumnStep - 1) / kColumnStep * kColumnStep;
}

// Packs a left factor [m, k] of row stride `step` ([k, m] if transposed) into strips of rows, for
// each position along k the rows of the strip. `to` holds whole_rows(m) * k floats.
void pack_left(Transpose transpose, std::int64_t m, std::int64_t k, const float* from,
               std::int64_t step, float* to);

// The same of k positions that start at `begin` of a left factor [m, depth]; `from` is the first.
void pack_left_part(std::int64_t m, std::int64_t k, const float* from, std::int64_t step,
                    std::int64_t begin, std::int64_t depth, float* to);

// Packs a right factor [k, n] of row stride `step` ([n, k] if transposed) into panels of columns,
// for each position along k the columns of the panel. `to` holds whole_columns(n) * k floats.
void pack_right(Transpose transpose, std::int64_t k, std::int64_t n, const float* from,
                std::int64_t step, float* to);

// So many columns of a right factor, or fewer, do not repay packing the left one.
std::int64_t most_columns_in_place(Transpose left);

enum class Layout {
  packed,  // `step` is the depth that was packed, at least the depth of the product
  rows,    // row-major, with rows `step` apart
  columns  // column-major, with columns `step` apart
};

struct Factor {
  const float* data = nullptr;
  std::int64_t step = 0;
  Layout layout = Layout::packed;

  // A left factor without its first `count` rows, a multiple of kRowStep.
  Factor after_rows(std::int64_t count) const {
    return {data + count * (layout == Layout::columns ? 1 : step), step, layout};
  }
  // A right factor without its first `count` columns, a multiple of kColumnStep.
  Factor after_columns(std::int64_t count) const {
    return {data + count * (layout == Layout::rows ? 1 : step), step, layout};
  }
};

// Elements that need not be computed, where one side of a diagonal is hidden.
enum class Skip {
  none,
  columns,      // C(i, j) is not wanted for j < i + diagonal, and may be left as it is
  depth_after,  // left(i, k) is 0 for k > i - diagonal
  depth_before  // left(i, k) is 0 for k < i + diagonal
};

// A packed right factor without its first `count` rows, a left one without its first columns.
Factor packed_after_depth(const Factor& right, std::int64_t count);
Factor left_after_depth(const Factor& left, std::int64_t count);

// C = alpha * left * right + beta * C, row-major. C is not read if beta is 0. Each element is one
// sum over k in order, and then alpha and beta are applied: its bits do not depend on m, n, or its
// position. A right factor that is not packed has layout `rows` and whole panels (n is a multiple
// of kColumnStep), or layout `columns`, at most kThinRows rows and nothing to skip.
struct BlockProduct {
  std::int64_t m = 0, n = 0, k = 0;
  Factor left, right;
  float* c = nullptr;
  std::int64_t ldc = 0;
  float alpha = 1, beta = 0;
  Skip skip = Skip::none;
  std::int64_t diagonal = 0;
};
void multiply_block(const BlockProduct& p);

}  // namespace cpu
