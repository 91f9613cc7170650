// SPDX-License-Identifier: Apache-2.0
// The memory of the 16 factors of each tile, see winograd.h.
#pragma once

#include <cstdint>

namespace cpu {

inline constexpr std::int64_t kWinogradProducts = 16;

// Matrices [tiles, step], `distance` floats from one to the next.
struct TileMatrices {
  float* data;
  std::int64_t step, distance;

  TileMatrices(float* memory, std::int64_t tiles, std::int64_t row)
      : data(memory), step(row), distance(matrix_size(tiles, row)) {}

  float* at(std::int64_t i) const { return data + i * distance; }
  static std::int64_t size(std::int64_t tiles, std::int64_t row) {
    return kWinogradProducts * matrix_size(tiles, row);
  }

 private:
  // A line more than an even number of lines, so that the 16 elements of a tile do not compete for
  // the same lines of a cache.
  static std::int64_t matrix_size(std::int64_t tiles, std::int64_t row) {
    constexpr std::int64_t kLine = 16;
    return (tiles * row + 2 * kLine - 1) / (2 * kLine) * (2 * kLine) + kLine;
  }
};

}  // namespace cpu
