// SPDX-License-Identifier: Apache-2.0
// The inner loops of matrix products: the product of a block of the depth with sums that stay in
// registers. On the calling thread, without memory of their own.
#pragma once

#include <cstdint>

#include "cpu/products/packing.h"

namespace cpu {

// So few rows read a right factor where it lies as fast as memory delivers it.
inline constexpr std::int64_t kThinRows = 8;

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
