// SPDX-License-Identifier: Apache-2.0
// The memory of exchanges of floats: parts of a block, rows of one length, and their sum.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "trivet/backend/sum_tree.h"

namespace trivet::detail {

// What is exchanged, kept for its memory, which only grows.
class ExchangeBuffers {
 public:
  std::vector<float> packed, rows, sums;

  // Memory of an exchange beside others.
  std::vector<float> take() {
    if (spare_.empty()) return {};
    std::vector<float> memory = std::move(spare_.back());
    spare_.pop_back();
    return memory;
  }
  void give_back(std::vector<float> memory) { spare_.push_back(std::move(memory)); }

 private:
  std::vector<std::vector<float>> spare_;
};

// Until the process ends: of a transfer that has failed, or that another failure has left, whose
// memory the engine may still use. [any-thread]
template <class Memory>
void keep_to_the_end(Memory memory) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<Memory>();
  const std::scoped_lock lock(mutex);
  kept->push_back(std::move(memory));
}

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
