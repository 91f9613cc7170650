// SPDX-License-Identifier: Apache-2.0
// How a variable is cut into blocks, each of which has one matrix for each of its axes.
#pragma once

#include <cstdint>
#include <vector>

#include "trivet/tensor.h"

namespace trivet::optim {

// Neighboring axes become one as long as their product is at most `limit`; axes of extent 1 go.
// {2, 512, 1, 2048, 3, 4} with limit 1024 is {1024, 2048, 12}. A single number is {1}.
Shape merged_axes(const Shape& shape, std::int64_t limit);

// One block: its range on each axis, and the offset of its matrices in the flat slots.
struct Block {
  std::vector<std::int64_t> begin, end;
  std::vector<std::int64_t> offsets;  // elements, one for each axis

  std::int64_t extent(std::size_t axis) const { return end[axis] - begin[axis]; }
};

// Blocks of at most `block_size` on each axis, the last axis first.
std::vector<Block> blocks_of(const Shape& shape, std::int64_t block_size);
// Elements of the matrices of all blocks.
std::int64_t matrix_elements(const std::vector<Block>& blocks);

}  // namespace trivet::optim
