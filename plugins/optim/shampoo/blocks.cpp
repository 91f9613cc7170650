// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/blocks.h"

#include <algorithm>

namespace trivet::optim {

Shape merged_axes(const Shape& shape, std::int64_t limit) {
  std::vector<std::int64_t> merged;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t extent = shape[axis];
    if (extent == 1) continue;
    if (!merged.empty() && merged.back() * extent <= limit) {
      merged.back() *= extent;
    } else {
      merged.push_back(extent);
    }
  }
  if (merged.empty()) merged.push_back(1);
  return Shape(merged);
}

std::vector<Block> blocks_of(const Shape& shape, std::int64_t block_size) {
  const auto rank = static_cast<std::size_t>(shape.rank());
  std::vector<Block> blocks;
  std::vector<std::int64_t> begin(rank, 0);
  std::int64_t offset = 0;
  while (true) {
    Block block{begin, begin, {}};
    for (std::size_t axis = 0; axis < rank; ++axis) {
      block.end[axis] = std::min(begin[axis] + block_size, shape[static_cast<int>(axis)]);
      block.offsets.push_back(offset);
      offset += block.extent(axis) * block.extent(axis);
    }
    blocks.push_back(block);
    std::size_t axis = rank;
    while (axis > 0 && block.end[axis - 1] == shape[static_cast<int>(axis - 1)]) {
      begin[--axis] = 0;
    }
    if (axis == 0) return blocks;
    begin[axis - 1] = block.end[axis - 1];
  }
}

std::int64_t matrix_elements(const std::vector<Block>& blocks) {
  std::int64_t elements = 0;
  for (const Block& block : blocks) {
    for (std::size_t axis = 0; axis < block.begin.size(); ++axis) {
      elements += block.extent(axis) * block.extent(axis);
    }
  }
  return elements;
}

}  // namespace trivet::optim
