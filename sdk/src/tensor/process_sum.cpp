// SPDX-License-Identifier: Apache-2.0
#include "tensor/process_sum.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "trivet/backend/process_group.h"

namespace trivet::detail {
namespace {

void add_floats(std::span<float> sum, std::span<const float> value) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += value[i];
}

// Floats of a row that are added at a time: those of a few processes stay in the nearest cache.
constexpr std::size_t kChunk = 1024;

std::size_t segment_of(std::size_t processes) {
  return ProcessSum::segment_of(processes);
}

// Writes the sum of rows that are as long as `out`. That of the rank is `own`, which may be `out`;
// the others are spent.
void add_rows(const SumTree& tree, std::span<const std::span<float>> rows, std::size_t rank,
              std::span<const float> own, std::span<float> out) {
  std::array<float, kChunk> copy;
  for (std::size_t begin = 0; begin < out.size(); begin += kChunk) {
    const std::size_t count = std::min(kChunk, out.size() - begin);
    std::ranges::copy(own.subspan(begin, count), copy.begin());
    TreeFold<std::span<float>> fold(tree);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::span<float> values =
          row == rank ? std::span(copy).first(count) : rows[row].subspan(begin, count);
      const auto total =
          fold.add(values, [](auto& sum, const auto& value) { add_floats(sum, value); });
      if (total) std::ranges::copy(*total, out.subspan(begin, count).begin());
    }
  }
}

// One row of the length after another.
std::vector<std::span<float>> rows_of(std::span<float> all, std::size_t length) {
  std::vector<std::span<float>> rows;
  for (std::size_t begin = 0; begin < all.size(); begin += length) {
    rows.push_back(all.subspan(begin, length));
  }
  return rows;
}

// The first `count` elements, of memory that only grows.
std::span<float> first_of(std::vector<float>& buffer, std::size_t count) {
  if (buffer.size() < count) buffer.resize(count);
  return std::span(buffer).first(count);
}

}  // namespace

void PartGather::gather(std::span<const float> own, std::int64_t length, std::span<float> all) {
  const auto processes = static_cast<std::size_t>(group_.size());
  const auto rank = static_cast<std::size_t>(group_.rank());
  const auto full = static_cast<std::size_t>(length);
  const std::size_t step = segment_of(processes);
  const auto range_of = [&](std::size_t i, std::size_t begin, std::size_t count) {
    const std::size_t first = std::min(i * full + begin, all.size());
    return all.subspan(first, std::min(count, all.size() - first));
  };
  for (std::size_t begin = 0; begin < full; begin += step) {
    const std::size_t count = std::min(step, full - begin);
    const std::span<const float> mine = own.subspan(std::min(begin, own.size()));
    if (processes == 2) {
      exchange(mine.first(std::min(count, mine.size())), range_of(1 - rank, begin, count));
      continue;
    }
    // Equal lengths: the last parts have a rest that nobody reads.
    const std::span<float> sent = first_of(buffers_->packed, count);
    std::ranges::copy(mine.first(std::min(count, mine.size())), sent.begin());
    // Ranges without a rest are received where they belong.
    const bool is_whole = count == full && full * processes == all.size();
    const std::span<float> rows = is_whole ? all : first_of(buffers_->rows, count * processes);
    group_.all_gather(std::as_bytes(sent), std::as_writable_bytes(rows));
    for (std::size_t i = 0; i < processes && !is_whole; ++i) {
      const std::span<float> theirs = range_of(i, begin, count);
      if (i != rank) std::ranges::copy(rows.subspan(i * count, theirs.size()), theirs.begin());
    }
  }
  const std::span<float> own_part = range_of(rank, 0, own.size());
  if (own_part.data() != own.data()) std::ranges::copy(own, own_part.begin());
}

// With the other one of two processes.
void PartGather::exchange(std::span<const float> mine, std::span<float> theirs) {
  std::array<std::uint64_t, 2> to = {mine.size_bytes(), mine.size_bytes()};
  std::array<std::uint64_t, 2> from = {theirs.size_bytes(), theirs.size_bytes()};
  const auto rank = static_cast<std::size_t>(group_.rank());
  to[rank] = from[rank] = 0;
  group_.all_to_all(std::as_bytes(mine), to, std::as_writable_bytes(theirs), from);
}

void ProcessSum::whole(std::span<const float> in, std::span<float> out) {
  const auto processes = static_cast<std::size_t>(group_.size());
  const auto rank = static_cast<std::size_t>(group_.rank());
  if (!is_cut(std::ssize(in))) {
    const std::span<float> rows = first_of(buffers_->rows, in.size() * processes);
    group_.all_gather(std::as_bytes(in), std::as_writable_bytes(rows));
    add_rows(tree_, rows_of(rows, in.size()), rank, in, out);
    return;
  }
  const std::size_t segment = segment_of(processes) * processes;
  for (std::size_t begin = 0; begin < in.size(); begin += segment) {
    const std::size_t count = std::min(segment, in.size() - begin);
    whole_segment(in.subspan(begin, count), out.subspan(begin, count));
  }
}

void ProcessSum::whole_segment(std::span<const float> in, std::span<float> out) {
  const auto processes = static_cast<std::size_t>(group_.size());
  const std::size_t length = (in.size() + processes - 1) / processes;
  std::vector<Part> parts;
  for (std::size_t i = 0; i < processes; ++i) {
    const std::size_t begin = std::min(i * length, in.size());
    parts.push_back({begin, std::min(begin + length, in.size()) - begin});
  }
  const auto [begin, size] = parts[static_cast<std::size_t>(group_.rank())];
  const std::span<float> own = out.subspan(begin, size);
  part(in, parts, own);
  parts_.gather(own, static_cast<std::int64_t>(length), out);
}

void ProcessSum::part(std::span<const float> in, std::span<const Part> parts,
                      std::span<float> out) {
  const auto rank = static_cast<std::size_t>(group_.rank());
  const std::size_t step = segment_of(parts.size());
  const std::size_t longest = std::ranges::max(parts, {}, &Part::size).size;
  for (std::size_t begin = 0; begin < longest; begin += step) {
    const auto of = [&](const Part& part) {
      const std::size_t first = std::min(begin, part.size);
      return Part{part.begin + first, std::min(step, part.size - first)};
    };
    const Part own = of(parts[rank]);
    std::vector<std::uint64_t> to, from(parts.size(), own.size * sizeof(float));
    from[rank] = 0;
    std::span<const float> sent;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Part theirs = i != rank ? of(parts[i]) : Part{};
      to.push_back(theirs.size * sizeof(float));
      const std::span<const float> next = in.subspan(theirs.begin, theirs.size);
      sent = sent.empty() ? next : joined(sent, next, step * (parts.size() - 1));
    }
    const std::span<float> received = first_of(buffers_->rows, own.size * (parts.size() - 1));
    group_.all_to_all(std::as_bytes(sent), to, std::as_writable_bytes(received), from);
    std::vector<std::span<float>> rows = rows_of(received, own.size);
    if (own.size == 0) continue;
    rows.insert(rows.begin() + group_.rank(), std::span<float>());
    add_rows(tree_, rows, rank, in.subspan(own.begin, own.size), out.subspan(begin, own.size));
  }
}

// One after the other in a buffer of so many floats, which may have the first already.
std::span<const float> ProcessSum::joined(std::span<const float> first, std::span<const float> next,
                                          std::size_t capacity) {
  if (next.empty()) return first;
  const std::span<float> packed = first_of(buffers_->packed, capacity);
  if (first.data() != packed.data()) std::ranges::copy(first, packed.begin());
  std::ranges::copy(next, packed.begin() + static_cast<std::ptrdiff_t>(first.size()));
  return packed.first(first.size() + next.size());
}

std::size_t ProcessSum::segment_of(std::size_t processes) {
  constexpr std::size_t kOfAll = std::size_t{1} << 18, kLeast = std::size_t{1} << 16;
  return std::max(kLeast, kOfAll / processes);
}

std::size_t ProcessSum::buffer_floats(std::size_t elements, std::size_t group,
                                      std::size_t processes, std::size_t part) {
  if (!is_cut(static_cast<std::int64_t>(elements))) return elements * group;
  const std::size_t row = std::min(part, segment_of(group)), others = row * (group - 1);
  if (processes == 2) return others;
  // Sums send and receive as much; a gather sends a row, and receives those of all.
  const std::size_t whole = std::min(part, segment_of(processes));
  const std::size_t sent = group > 2 ? others : 0;
  return std::max(sent, whole) + std::max(others, whole * processes);
}

}  // namespace trivet::detail
