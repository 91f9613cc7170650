// SPDX-License-Identifier: Apache-2.0
#include "tensor/process_sum.h"

#include <algorithm>
#include <cstddef>

#include "trivet/backend/process_group.h"

namespace trivet::detail {
namespace {

void add_floats(std::span<float> sum, std::span<const float> value) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += value[i];
}

// The sum of equally long rows, which are spent.
std::span<float> add_rows(std::span<float> rows, const SumTree& tree) {
  const std::size_t length = rows.size() / static_cast<std::size_t>(tree.size());
  TreeFold<std::span<float>> fold(tree);
  for (std::size_t begin = 0; true; begin += length) {
    const auto total = fold.add(rows.subspan(begin, length),
                                [](auto& sum, const auto& value) { add_floats(sum, value); });
    if (total) return *total;
  }
}

// The first `count` elements, of memory that only grows.
std::span<float> first_of(std::vector<float>& buffer, std::size_t count) {
  if (buffer.size() < count) buffer.resize(count);
  return std::span(buffer).first(count);
}

}  // namespace

void PartGather::gather(std::span<const float> own, std::int64_t length, std::span<float> all) {
  const std::span<float> part = first_of(buffers_->rows, static_cast<std::size_t>(length));
  std::ranges::copy(own, part.begin());
  const std::size_t total = part.size() * static_cast<std::size_t>(group_.size());
  if (total == all.size()) {
    group_.all_gather(std::as_bytes(part), std::as_writable_bytes(all));
    return;
  }
  // Equal lengths: the last parts have a rest that nobody reads.
  const std::span<float> gathered = first_of(buffers_->all, total);
  group_.all_gather(std::as_bytes(part), std::as_writable_bytes(gathered));
  std::copy_n(gathered.begin(), all.size(), all.begin());
}

void ProcessSum::whole(std::span<const float> in, std::span<float> out) {
  const auto processes = static_cast<std::size_t>(group_.size());
  if (!is_cut(std::ssize(in))) {
    const std::span<float> rows = first_of(buffers_->rows, in.size() * processes);
    group_.all_gather(std::as_bytes(in), std::as_writable_bytes(rows));
    std::ranges::copy(add_rows(rows, tree_), out.begin());
    return;
  }
  const std::size_t length = (in.size() + processes - 1) / processes;
  std::vector<Part> parts;
  for (std::size_t rank = 0; rank < processes; ++rank) {
    const std::size_t begin = std::min(rank * length, in.size());
    parts.push_back({begin, std::min(begin + length, in.size()) - begin});
  }
  const auto [begin, size] = parts[static_cast<std::size_t>(group_.rank())];
  const std::span<float> own = out.subspan(begin, size);
  part(in, parts, own);
  parts_.gather(own, static_cast<std::int64_t>(length), out);
}

void ProcessSum::part(std::span<const float> in, std::span<const Part> parts,
                      std::span<float> out) {
  std::vector<std::uint64_t> to;
  std::size_t size = 0;
  for (const Part& theirs : parts) {
    to.push_back(theirs.size * sizeof(float));
    size += theirs.size;
  }
  std::span<const float> sent = in;
  if (size < in.size()) {
    const std::span<float> packed = first_of(buffers_->packed, size);
    auto end = packed.begin();
    for (const Part& theirs : parts) {
      end = std::ranges::copy(in.subspan(theirs.begin, theirs.size), end).out;
    }
    sent = packed;
  }
  const std::vector<std::uint64_t> from(parts.size(), out.size_bytes());
  const std::span<float> rows = first_of(buffers_->rows, out.size() * parts.size());
  group_.all_to_all(std::as_bytes(sent), to, std::as_writable_bytes(rows), from);
  if (!out.empty()) std::ranges::copy(add_rows(rows, tree_), out.begin());
}

}  // namespace trivet::detail
