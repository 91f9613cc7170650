// SPDX-License-Identifier: Apache-2.0
// Packing of the factors of products. On the calling thread.
#pragma once

#include <cstdint>

namespace cpu {

// How a factor lies in memory.
enum class Transpose : bool { no, yes };

// Rows of the left factor and columns of the right one start at multiples of these, so that they
// start a strip or a panel on every instruction set.
inline constexpr std::int64_t kRowStep = 12;
inline constexpr std::int64_t kColumnStep = 32;

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

}  // namespace cpu
