// SPDX-License-Identifier: Apache-2.0
#include "exchange/process_sum.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "exchange/slice_gather.h"
#include "exchange/slice_sum.h"
#include "trivet/backend/process_group.h"

namespace trivet::detail {
namespace {

// The elements of one process, of a block of which all have parts.
template <class Float>
struct OfParts {
  std::span<const BlockPart> parts;
  std::span<Float> own;
};

// Of `part` what is in the other one, too.
BlockPart common(const BlockPart& part, const BlockPart& other) {
  const std::size_t begin = std::clamp(other.begin, part.begin, part.end());
  return {begin, std::clamp(other.end(), begin, part.end()) - begin};
}

// What processes have by some parts becomes what they have by others, of the same block.
void move_parts(ProcessGroup& group, OfParts<const float> from, OfParts<float> to) {
  const auto rank = static_cast<std::size_t>(group.rank());
  const BlockPart &had = from.parts[rank], &gets = to.parts[rank];
  std::vector<std::span<const std::byte>> sent;
  std::vector<std::span<std::byte>> received;
  for (std::size_t i = 0; i < from.parts.size(); ++i) {
    const BlockPart theirs = common(had, to.parts[i]), mine = common(gets, from.parts[i]);
    const auto out = from.own.subspan(theirs.begin - had.begin, theirs.size);
    const auto in = to.own.subspan(mine.begin - gets.begin, mine.size);
    if (i == rank && in.data() != out.data()) std::ranges::copy(out, in.begin());
    sent.push_back(std::as_bytes(out));
    received.push_back(std::as_writable_bytes(in));
  }
  group.exchange(sent, received);
}

}  // namespace

bool are_uneven(std::span<const BlockPart> parts) {
  std::size_t all = 0;
  for (const BlockPart& part : parts) all += part.size;
  return parts.size() > 2 && longest_of(parts) > 2 * even_parts(all, parts.size()).front().size;
}

std::vector<BlockPart> even_parts(std::size_t elements, std::size_t processes) {
  constexpr std::size_t kMultiple = 16;
  const std::size_t length = (elements + processes * kMultiple - 1) / (processes * kMultiple);
  std::vector<BlockPart> parts;
  for (std::size_t i = 0; i < processes; ++i) {
    const BlockPart whole{0, elements};
    parts.push_back(cut(whole, i * length * kMultiple, length * kMultiple));
  }
  return parts;
}

void PartGather::gather(std::span<const float> own, std::span<const BlockPart> parts,
                        std::span<float> all) {
  if (!are_uneven(parts)) return gather_directly(own, parts, all);
  const auto rank = static_cast<std::size_t>(group_.rank());
  const std::vector<BlockPart> even = even_parts(all.size(), parts.size());
  const std::span<float> piece = all.subspan(even[rank].begin, even[rank].size);
  move_parts(group_, {parts, own}, {even, piece});
  gather_directly(piece, even, all);
}

void PartGather::gather_directly(std::span<const float> own, std::span<const BlockPart> parts,
                                 std::span<float> all) {
  if (slices_ != nullptr) return slices_->gather(own, parts, all);
  const auto rank = static_cast<std::size_t>(group_.rank());
  const std::size_t longest = longest_of(parts);
  const std::size_t step = std::min(segment_of(parts.size()), longest);
  const bool is_direct = sends_to_each(step, parts.size());
  for (std::size_t begin = 0; begin < longest; begin += step) {
    std::vector<std::span<float>> ranges;
    for (const BlockPart& part : parts) {
      const BlockPart of_step = cut(part, begin, step);
      ranges.push_back(all.subspan(of_step.begin, of_step.size));
    }
    const BlockPart of_step = cut({0, own.size()}, begin, step);
    const std::span<const float> mine = own.subspan(of_step.begin, of_step.size);
    if (is_direct) {
      start_to_each(mine, ranges)->wait();
    } else {
      together(mine, std::min(step, longest - begin), ranges);
    }
  }
  const std::span<float> own_part = all.subspan(parts[rank].begin, parts[rank].size);
  if (own_part.data() != own.data()) std::ranges::copy(own, own_part.begin());
}

std::unique_ptr<Transfer> PartGather::start(std::span<const float> own,
                                            std::span<const BlockPart> parts,
                                            std::span<float> all) {
  if (are_uneven(parts) || !sends_to_each(longest_of(parts), parts.size())) return nullptr;
  if (slices_ != nullptr) return slices_->start(own, parts, all);
  std::vector<std::span<float>> ranges;
  for (const BlockPart& part : parts) ranges.push_back(all.subspan(part.begin, part.size));
  std::ranges::copy(own, ranges[static_cast<std::size_t>(group_.rank())].begin());
  return start_to_each(own, ranges);
}

// What is received needs no copy.
std::unique_ptr<Transfer> PartGather::start_to_each(std::span<const float> mine,
                                                    std::span<const std::span<float>> ranges) {
  const std::vector<std::span<const std::byte>> sent(ranges.size(), std::as_bytes(mine));
  std::vector<std::span<std::byte>> received;
  for (const std::span<float> range : ranges) received.push_back(std::as_writable_bytes(range));
  return group_.start_exchange(sent, received);
}

// Equal lengths: the last parts have a rest that nobody reads.
void PartGather::together(std::span<const float> mine, std::size_t count,
                          std::span<const std::span<float>> ranges) {
  const std::span<float> sent = first_of(buffers_->packed, count);
  std::ranges::copy(mine, sent.begin());
  const std::span<float> rows = first_of(buffers_->rows, count * ranges.size());
  group_.all_gather(std::as_bytes(sent), std::as_writable_bytes(rows));
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::span<float> theirs = rows.subspan(i * count, ranges[i].size());
    if (i != static_cast<std::size_t>(group_.rank())) {
      std::ranges::copy(theirs, ranges[i].begin());
    }
  }
}

void ProcessSum::whole(std::span<const float> in, std::span<float> out) {
  const auto processes = static_cast<std::size_t>(group_.size());
  const auto rank = static_cast<std::size_t>(group_.rank());
  if (!is_cut(std::ssize(in))) {
    if (slices_ != nullptr) return slices_->whole(in, out);
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
  std::vector<BlockPart> parts;
  for (std::size_t i = 0; i < processes; ++i) {
    const std::size_t begin = std::min(i * length, in.size());
    parts.push_back({begin, std::min(begin + length, in.size()) - begin});
  }
  const auto [begin, size] = parts[static_cast<std::size_t>(group_.rank())];
  const std::span<float> own = out.subspan(begin, size);
  part(in, parts, own);
  parts_.gather(own, parts, out);
}

void ProcessSum::part(std::span<const float> in, std::span<const BlockPart> parts,
                      std::span<float> out) {
  if (!are_uneven(parts)) return part_directly(in, parts, out);
  // Of all parts, one after another.
  std::vector<BlockPart> owned;
  std::size_t size = 0;
  for (const BlockPart& part : parts) {
    owned.push_back({size, part.size});
    size += part.size;
  }
  const bool follow = parts.back().end() - parts.front().begin == size;
  const std::span<float> packed = first_of(buffers_->packed, follow ? 0 : size);
  for (std::size_t i = 0; !follow && i < parts.size(); ++i) {
    const std::span<const float> part = in.subspan(parts[i].begin, parts[i].size);
    std::ranges::copy(part, packed.subspan(owned[i].begin).begin());
  }
  const std::vector<BlockPart> even = even_parts(size, parts.size());
  const std::span<float> sums =
      first_of(buffers_->sums, even[static_cast<std::size_t>(group_.rank())].size);
  part_directly(follow ? in.subspan(parts.front().begin, size) : packed, even, sums);
  move_parts(group_, {even, sums}, {owned, out});
}

// The parts of this process that the others have, on their way.
class ProcessSum::Rows {
 public:
  // `memory` is as long as the own part for each other process.
  Rows(ProcessGroup& group, std::span<const float> in, std::span<const BlockPart> parts,
       std::span<float> memory)
      : rank_(static_cast<std::size_t>(group.rank())), rows_(parts.size()) {
    own_ = in.subspan(parts[rank_].begin, parts[rank_].size);
    const std::vector<std::span<float>> others = rows_of(memory, own_.size());
    std::vector<std::span<const std::byte>> mine(parts.size());
    std::vector<std::span<std::byte>> theirs(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i == rank_) continue;
      mine[i] = std::as_bytes(in.subspan(parts[i].begin, parts[i].size));
      if (!own_.empty()) rows_[i] = others[i < rank_ ? i : i - 1];
      theirs[i] = std::as_writable_bytes(rows_[i]);
    }
    exchange_ = group.start_exchange(mine, theirs);
  }

  void add(const SumTree& tree, std::span<float> out) {
    exchange_->wait();
    if (!own_.empty()) add_rows(tree, rows_, rank_, own_, out);
  }

 private:
  std::size_t rank_;
  std::span<const float> own_;
  std::vector<std::span<float>> rows_;
  std::unique_ptr<Transfer> exchange_;
};

class ProcessSum::Part final : public Transfer {
 public:
  Part(const ProcessSum& sum, std::span<const float> in, std::span<const BlockPart> parts,
       std::span<float> out)
      : tree_(sum.tree_), buffers_(sum.buffers_), memory_(buffers_->take()), out_(out) {
    rows_.emplace(sum.group_, in, parts, first_of(memory_, out.size() * (parts.size() - 1)));
  }
  ~Part() override {
    if (rows_) {
      keep_to_the_end(std::move(memory_));
    } else {
      buffers_->give_back(std::move(memory_));
    }
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  void wait() override {
    rows_->add(tree_, out_);
    rows_.reset();
  }

 private:
  const SumTree tree_;
  const std::shared_ptr<ExchangeBuffers> buffers_;
  std::vector<float> memory_;
  std::span<float> out_;
  std::optional<Rows> rows_;
};

void ProcessSum::part_directly(std::span<const float> in, std::span<const BlockPart> parts,
                               std::span<float> out) {
  if (slices_ != nullptr) return slices_->part(in, parts, out);
  const auto rank = static_cast<std::size_t>(group_.rank());
  const std::size_t step = segment_of(parts.size());
  const std::size_t longest = longest_of(parts);
  for (std::size_t begin = 0; begin < longest; begin += step) {
    std::vector<BlockPart> of_step;
    for (const BlockPart& part : parts) of_step.push_back(cut(part, begin, step));
    const std::size_t own = of_step[rank].size;
    Rows rows(group_, in, of_step, first_of(buffers_->rows, own * (parts.size() - 1)));
    rows.add(tree_, out.subspan(std::min(begin, out.size()), own));
  }
}

std::unique_ptr<Transfer> ProcessSum::start_part(std::span<const float> in,
                                                 std::span<const BlockPart> parts,
                                                 std::span<float> out) {
  if (are_uneven(parts)) return nullptr;
  if (slices_ != nullptr) return slices_->start_part(in, parts, out);
  return std::make_unique<Part>(*this, in, parts, out);
}

std::size_t ProcessSum::buffer_floats(std::size_t elements, const Sharing& group,
                                      const Sharing& all, std::size_t part) {
  if (!is_cut(static_cast<std::int64_t>(elements))) {
    const bool has_slices = group.slices > 1;
    return elements *
           (has_slices ? group.processes / group.slices + group.slices : group.processes);
  }
  // Within slices a process adds its part and those of others between slices: the same memory.
  const std::size_t others = std::min(part, segment_of(group.processes)) * (group.processes - 1);
  const std::size_t count = std::min(part, segment_of(all.processes));
  if (sends_to_each(count, all.processes)) return others;
  // Such a gather sends a row, or one of each slice, and receives those of all.
  return count * all.slices + std::max(others, count * all.processes);
}

}  // namespace trivet::detail
