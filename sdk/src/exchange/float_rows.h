// SPDX-License-Identifier: Apache-2.0
// The memory of exchanges of floats: parts of a block, rows of one length, and their sum.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "trivet/backend/sum_tree.h"

namespace trivet::detail {

// Floats of each process in an exchange. Those of a few processes stay in a cache; of many each has
// enough that latency is a small part of a transfer.
std::size_t segment_of(std::size_t processes);
// Whether each process sends its part, of so many floats in an exchange, to each other one. Of less
// a gather of the engine takes fewer messages.
bool sends_to_each(std::size_t count, std::size_t processes);

// Elements of a block that one process owns.
struct BlockPart {
  std::size_t begin = 0, size = 0;
  std::size_t end() const { return begin + size; }
};

std::size_t longest_of(std::span<const BlockPart> parts);
// Of a part its elements [begin, begin + count), as far as it has them.
BlockPart cut(const BlockPart& part, std::size_t begin, std::size_t count);

// One row of the length after another.
std::vector<std::span<float>> rows_of(std::span<float> all, std::size_t length);
// The first `count` elements, of memory that only grows.
std::span<float> first_of(std::vector<float>& buffer, std::size_t count);

// Writes the sum of rows that are as long as `out`. That of the rank is `own`; the others are
// spent. `out` may be one of them, or `own`.
void add_rows(const SumTree& tree, std::span<const std::span<float>> rows, std::size_t rank,
              std::span<const float> own, std::span<float> out);

}  // namespace trivet::detail
