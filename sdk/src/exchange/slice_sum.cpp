// SPDX-License-Identifier: Apache-2.0
#include "exchange/slice_sum.h"

#include <algorithm>
#include <utility>

namespace trivet::detail {

// Parts of one segment, or of a whole block.
class SliceSum::Exchange final : public RelayedExchange {
 public:
  // `memory` has received_floats(parts).
  Exchange(std::shared_ptr<SliceGroups> groups, std::shared_ptr<const Trees> trees,
           std::span<const float> in, std::span<const BlockPart> parts, std::span<float> memory,
           std::span<float> out)
      : groups_(std::move(groups)), trees_(std::move(trees)), out_(out) {
    const SliceGroups& all = *groups_;
    for (std::size_t slice = 0; slice < all.slices(); ++slice) {
      const BlockPart& own = parts[all.rank_of(slice, all.position())];
      Term& term = terms_.emplace_back();
      term.own = in.subspan(own.begin, own.size);
      std::vector<std::span<const std::byte>> mine(all.in_slice());
      std::vector<std::span<std::byte>> theirs(all.in_slice());
      for (std::size_t position = 0; position < all.in_slice(); ++position) {
        std::span<float>& row = term.rows.emplace_back();
        if (position == all.position()) continue;
        const BlockPart& part = parts[all.rank_of(slice, position)];
        mine[position] = std::as_bytes(in.subspan(part.begin, part.size));
        row = memory.first(own.size);
        memory = memory.subspan(own.size);
        theirs[position] = std::as_writable_bytes(row);
      }
      first_.push_back(all.within().start_exchange(mine, theirs));
    }
    for (std::size_t slice = 0; slice < all.slices(); ++slice) {
      std::span<float>& row = rows_.emplace_back();
      if (slice == all.slice()) continue;
      row = memory.first(out.size());
      memory = memory.subspan(out.size());
    }
  }

  bool has_come() override {
    return std::ranges::all_of(first_, [](const auto& one) { return one->has_ended(); });
  }
  void await() override {
    for (const auto& one : first_) one->wait();
  }
  void send_on() override {
    const SliceGroups& all = *groups_;
    std::vector<std::span<const std::byte>> mine(all.slices());
    std::vector<std::span<std::byte>> theirs(all.slices());
    for (std::size_t slice = 0; slice < all.slices(); ++slice) {
      const Term& term = terms_[slice];
      // The memory of a row that this spends, where the part is that of another slice.
      const std::span<float> spent = term.rows[all.position() == 0 ? 1 : 0];
      const std::span<float> sum = slice == all.slice() ? out_ : spent;
      if (!sum.empty()) add_rows(trees_->within, term.rows, all.position(), term.own, sum);
      mine[slice] = std::as_bytes(sum);
      theirs[slice] = std::as_writable_bytes(rows_[slice]);
    }
    second_ = all.between().start_exchange(mine, theirs);
    first_.clear();
  }
  // Behind send_on.
  void finish() {
    second_->wait();
    if (!out_.empty()) add_rows(trees_->between, rows_, groups_->slice(), out_, out_);
  }

 private:
  // Of a slice the part of this process's position.
  struct Term {
    std::span<const float> own;
    std::vector<std::span<float>> rows;  // by position
  };

  const std::shared_ptr<SliceGroups> groups_;
  const std::shared_ptr<const Trees> trees_;
  const std::span<float> out_;
  std::vector<Term> terms_;
  std::vector<std::span<float>> rows_;  // by slice
  std::vector<std::unique_ptr<Transfer>> first_;
  std::unique_ptr<Transfer> second_;
};

class SliceSum::Started final : public Transfer {
 public:
  Started(const SliceSum& sum, std::span<const float> in, std::span<const BlockPart> parts,
          std::span<float> out)
      : groups_(sum.groups_), buffers_(sum.buffers_), memory_(buffers_->take()) {
    const std::span<float> memory = first_of(memory_, sum.received_floats(parts));
    exchange_ = std::make_shared<Exchange>(groups_, sum.trees_, in, parts, memory, out);
    groups_->queue().add(exchange_);
    groups_->queue().advance();
  }
  // Others may still need what the exchange sends on, so it stays in the queue.
  ~Started() override {
    if (exchange_ != nullptr) {
      keep_to_the_end(std::move(memory_));
    } else {
      buffers_->give_back(std::move(memory_));
    }
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  void wait() override {
    groups_->queue().send_on(*exchange_);
    exchange_->finish();
    exchange_ = nullptr;
  }

 private:
  const std::shared_ptr<SliceGroups> groups_;
  const std::shared_ptr<ExchangeBuffers> buffers_;
  std::vector<float> memory_;
  std::shared_ptr<Exchange> exchange_;
};

SliceSum::SliceSum(ProcessGroup& group, std::int64_t in_slice, SumTree within, SumTree between,
                   std::shared_ptr<ExchangeBuffers> buffers)
    : groups_(std::make_shared<SliceGroups>(group, in_slice)),
      trees_(std::make_shared<const Trees>(Trees{std::move(within), std::move(between)})),
      buffers_(std::move(buffers)) {}

std::size_t SliceSum::received_floats(std::span<const BlockPart> parts) const {
  const SliceGroups& all = *groups_;
  std::size_t floats = parts[all.rank_of(all.slice(), all.position())].size * (all.slices() - 1);
  for (std::size_t slice = 0; slice < all.slices(); ++slice) {
    floats += parts[all.rank_of(slice, all.position())].size * (all.in_slice() - 1);
  }
  return floats;
}

// One exchange of everything takes less time than two of parts, in each phase.
void SliceSum::whole(std::span<const float> in, std::span<float> out) {
  const SliceGroups& all = *groups_;
  const std::size_t of_slice = in.size() * all.in_slice();
  const std::span<float> memory = first_of(buffers_->rows, of_slice + in.size() * all.slices());
  const std::span<float> within = memory.first(of_slice), between = memory.subspan(of_slice);
  all.within().all_gather(std::as_bytes(in), std::as_writable_bytes(within));
  const std::vector<std::span<float>> rows = rows_of(within, in.size());
  const std::span<float> sum = within.first(in.size());
  if (!in.empty()) add_rows(trees_->within, rows, all.position(), in, sum);
  groups_->queue().send_on_all();
  all.between().all_gather(std::as_bytes(sum), std::as_writable_bytes(between));
  if (!in.empty()) {
    add_rows(trees_->between, rows_of(between, in.size()), all.slice(), sum, out);
  }
}

void SliceSum::part(std::span<const float> in, std::span<const BlockPart> parts,
                    std::span<float> out) {
  const std::size_t step = segment_of(parts.size()), longest = longest_of(parts);
  const std::size_t rank = groups_->rank_of(groups_->slice(), groups_->position());
  for (std::size_t begin = 0; begin < longest; begin += step) {
    std::vector<BlockPart> of_step;
    for (const BlockPart& part : parts) of_step.push_back(cut(part, begin, step));
    const std::span<float> memory = first_of(buffers_->rows, received_floats(of_step));
    const std::span<float> sum = out.subspan(std::min(begin, out.size()), of_step[rank].size);
    finish_now(groups_->queue(),
               std::make_shared<Exchange>(groups_, trees_, in, of_step, memory, sum));
  }
}

std::unique_ptr<Transfer> SliceSum::start_part(std::span<const float> in,
                                               std::span<const BlockPart> parts,
                                               std::span<float> out) {
  return std::make_unique<Started>(*this, in, parts, out);
}

}  // namespace trivet::detail
