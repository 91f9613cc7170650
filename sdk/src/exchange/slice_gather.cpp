// SPDX-License-Identifier: Apache-2.0
#include "exchange/slice_gather.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace trivet::detail {

// Of parts of one segment, or of a whole block.
class SliceGather::Exchange final : public RelayedExchange {
 public:
  Exchange(std::shared_ptr<SliceGroups> groups, std::span<const float> own,
           std::span<const BlockPart> parts, std::span<float> all)
      : groups_(std::move(groups)), own_(own) {
    const SliceGroups& of = *groups_;
    for (const BlockPart& part : parts) ranges_.push_back(all.subspan(part.begin, part.size));
    const std::vector<std::span<const std::byte>> mine(of.slices(), std::as_bytes(own));
    std::vector<std::span<std::byte>> theirs;
    for (std::size_t slice = 0; slice < of.slices(); ++slice) {
      theirs.push_back(std::as_writable_bytes(ranges_[of.rank_of(slice, of.position())]));
    }
    first_ = of.between().start_exchange(mine, theirs);
  }

  bool has_come() override { return first_->has_ended(); }
  void await() override { first_->wait(); }
  void send_on() override {
    const SliceGroups& of = *groups_;
    for (std::size_t slice = 0; slice < of.slices(); ++slice) {
      const std::span<const float> sent =
          slice == of.slice() ? own_ : ranges_[of.rank_of(slice, of.position())];
      const std::vector<std::span<const std::byte>> mine(of.in_slice(), std::as_bytes(sent));
      std::vector<std::span<std::byte>> theirs;
      for (std::size_t position = 0; position < of.in_slice(); ++position) {
        theirs.push_back(std::as_writable_bytes(ranges_[of.rank_of(slice, position)]));
      }
      second_.push_back(of.within().start_exchange(mine, theirs));
    }
    first_.reset();
  }
  // Behind send_on.
  void finish() {
    for (const auto& one : second_) one->wait();
  }

 private:
  const std::shared_ptr<SliceGroups> groups_;
  const std::span<const float> own_;
  std::vector<std::span<float>> ranges_;  // by rank
  std::unique_ptr<Transfer> first_;
  std::vector<std::unique_ptr<Transfer>> second_;  // by slice
};

class SliceGather::Started final : public Transfer {
 public:
  Started(std::shared_ptr<SliceGroups> groups, std::span<const float> own,
          std::span<const BlockPart> parts, std::span<float> all)
      : groups_(std::move(groups)),
        exchange_(std::make_shared<Exchange>(groups_, own, parts, all)) {
    groups_->queue().add(exchange_);
    groups_->queue().advance();
  }

  void wait() override {
    groups_->queue().send_on(*exchange_);
    exchange_->finish();
  }

 private:
  const std::shared_ptr<SliceGroups> groups_;
  // Where nobody waits for it, others may still need what it sends on, so it stays in the queue.
  const std::shared_ptr<Exchange> exchange_;
};

SliceGather::SliceGather(ProcessGroup& group, std::int64_t in_slice,
                         std::shared_ptr<ExchangeBuffers> buffers)
    : groups_(std::make_shared<SliceGroups>(group, in_slice)), buffers_(std::move(buffers)) {}

void SliceGather::gather(std::span<const float> own, std::span<const BlockPart> parts,
                         std::span<float> all) {
  const std::size_t longest = longest_of(parts);
  const std::size_t step = std::min(segment_of(parts.size()), longest);
  const bool is_direct = sends_to_each(step, parts.size());
  for (std::size_t begin = 0; begin < longest; begin += step) {
    std::vector<BlockPart> of_step;
    for (const BlockPart& part : parts) of_step.push_back(cut(part, begin, step));
    const BlockPart own_step = cut({0, own.size()}, begin, step);
    const std::span<const float> mine = own.subspan(own_step.begin, own_step.size);
    if (is_direct) {
      finish_now(groups_->queue(), std::make_shared<Exchange>(groups_, mine, of_step, all));
    } else {
      together(mine, std::min(step, longest - begin), of_step, all);
    }
  }
  const BlockPart& part = parts[groups_->rank_of(groups_->slice(), groups_->position())];
  const std::span<float> own_part = all.subspan(part.begin, part.size);
  if (own_part.data() != own.data()) std::ranges::copy(own, own_part.begin());
}

std::unique_ptr<Transfer> SliceGather::start(std::span<const float> own,
                                             std::span<const BlockPart> parts,
                                             std::span<float> all) {
  const BlockPart& part = parts[groups_->rank_of(groups_->slice(), groups_->position())];
  std::ranges::copy(own, all.subspan(part.begin, part.size).begin());
  return std::make_unique<Started>(groups_, own, parts, all);
}

// Equal lengths: the last parts have a rest that nobody reads.
void SliceGather::together(std::span<const float> mine, std::size_t count,
                           std::span<const BlockPart> parts, std::span<float> all) {
  const SliceGroups& of = *groups_;
  const std::span<float> sent = first_of(buffers_->packed, count * of.slices());
  const std::span<float> rows = first_of(buffers_->rows, count * parts.size());
  std::ranges::copy(mine, sent.begin());
  const std::span<float> of_position = rows.first(sent.size());
  of.between().all_gather(std::as_bytes(sent.first(count)), std::as_writable_bytes(of_position));
  std::ranges::copy(of_position, sent.begin());
  groups_->queue().send_on_all();
  of.within().all_gather(std::as_bytes(sent), std::as_writable_bytes(rows));
  for (std::size_t slice = 0; slice < of.slices(); ++slice) {
    for (std::size_t position = 0; position < of.in_slice(); ++position) {
      if (slice == of.slice() && position == of.position()) continue;
      const BlockPart& part = parts[of.rank_of(slice, position)];
      const auto theirs = rows.subspan((position * of.slices() + slice) * count, part.size);
      std::ranges::copy(theirs, all.subspan(part.begin).begin());
    }
  }
}

}  // namespace trivet::detail
