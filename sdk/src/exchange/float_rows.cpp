// SPDX-License-Identifier: Apache-2.0
#include "exchange/float_rows.h"

#include <algorithm>
#include <array>

namespace trivet::detail {
namespace {

// `sum` may be one of the others.
void add_floats(std::span<const float> a, std::span<const float> b, std::span<float> sum) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = a[i] + b[i];
}

// Floats of a row that are added at a time: those of a few processes stay in the nearest cache.
constexpr std::size_t kChunk = 1024;

}  // namespace

void add_rows(const SumTree& tree, std::span<const std::span<float>> rows, std::size_t rank,
              std::span<const float> own, std::span<float> out) {
  struct Term {
    std::span<const float> values;
    std::span<float> memory;  // of their sum with others
  };
  std::array<float, kChunk> own_memory;
  TreeFold<Term> fold(tree);  // empty again after each chunk
  for (std::size_t begin = 0; begin < out.size(); begin += kChunk) {
    const std::size_t count = std::min(kChunk, out.size() - begin);
    const auto chunk_of = [&](auto row) { return row.subspan(begin, count); };
    std::size_t sums = rows.size() - 1;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const Term term = row == rank ? Term{chunk_of(own), std::span(own_memory).first(count)}
                                    : Term{chunk_of(rows[row]), chunk_of(rows[row])};
      fold.add(term, [&](Term& sum, const Term& value) {
        // The last one needs no copy.
        if (--sums == 0) sum.memory = chunk_of(out);
        add_floats(sum.values, value.values, sum.memory);
        sum.values = sum.memory;
      });
    }
  }
}

std::size_t segment_of(std::size_t processes) {
  constexpr std::size_t kOfAll = std::size_t{1} << 19, kLeast = std::size_t{1} << 16;
  return std::max(kLeast, kOfAll / processes);
}

bool sends_to_each(std::size_t count, std::size_t processes) {
  constexpr std::size_t kLong = std::size_t{1} << 17;
  return processes == 2 || count * processes >= kLong;
}

std::vector<std::span<float>> rows_of(std::span<float> all, std::size_t length) {
  std::vector<std::span<float>> rows;
  for (std::size_t begin = 0; begin < all.size(); begin += length) {
    rows.push_back(all.subspan(begin, length));
  }
  return rows;
}

std::size_t longest_of(std::span<const BlockPart> parts) {
  return std::ranges::max(parts, {}, &BlockPart::size).size;
}

BlockPart cut(const BlockPart& part, std::size_t begin, std::size_t count) {
  const std::size_t first = std::min(begin, part.size);
  return {part.begin + first, std::min(count, part.size - first)};
}

std::span<float> first_of(std::vector<float>& buffer, std::size_t count) {
  if (buffer.size() < count) buffer.resize(count);
  return std::span(buffer).first(count);
}

}  // namespace trivet::detail
