// SPDX-License-Identifier: Apache-2.0
// Solves the offsets of a step's allocations (dynamic storage allocation, offline, greedy by size).
#include "tensor/step_plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace trivet {
namespace {

// The others, which are smaller, are placed in the order of the step.
constexpr std::size_t kMostBySize = 16'384;

struct Block {
  std::int32_t number;
  std::uint64_t bytes;
  std::int32_t born, dead;  // positions in the event list
  std::uint64_t offset = 0;
};

// What lives within the step only.
std::vector<Block> blocks_of(const StepRecord& record, const std::vector<bool>& escaped) {
  std::vector<Block> all;
  for (std::size_t i = 0; i < record.sizes.size(); ++i) {
    all.push_back({static_cast<std::int32_t>(i), record.sizes[i], -1, -1});
  }
  for (std::size_t time = 0; time < record.events.size(); ++time) {
    const std::int32_t event = record.events[time];
    const auto now = static_cast<std::int32_t>(time);
    if (event >= 0) {
      all[static_cast<std::size_t>(event)].born = now;
    } else {
      all[static_cast<std::size_t>(~event)].dead = now;
    }
  }
  std::erase_if(all, [&](const Block& block) {
    const auto number = static_cast<std::size_t>(block.number);
    return block.dead < 0 || (number < escaped.size() && escaped[number]);
  });
  return all;
}

std::uint64_t most_alive(const std::vector<Block>& blocks, std::size_t events) {
  std::vector<std::int64_t> change(events + 1, 0);
  for (const Block& block : blocks) {
    change[static_cast<std::size_t>(block.born)] += static_cast<std::int64_t>(block.bytes);
    change[static_cast<std::size_t>(block.dead)] -= static_cast<std::int64_t>(block.bytes);
  }
  std::int64_t alive = 0, most = 0;
  for (std::int64_t delta : change) most = std::max(most, alive += delta);
  return static_cast<std::uint64_t>(most);
}

// The lowest gap of block.bytes between the placed blocks that live at the same time; `placed` is
// ordered by offset.
std::uint64_t lowest_gap(const std::vector<Block>& placed, const Block& block) {
  std::uint64_t offset = 0;
  for (const Block& other : placed) {
    if (other.dead < block.born || block.dead < other.born) continue;
    if (other.offset >= offset + block.bytes) break;
    offset = std::max(offset, other.offset + other.bytes);
  }
  return offset;
}

// Memory that is taken and given back in the order of a step; the smallest free range that is large
// enough goes first, and of equal ones the lowest.
class FreeRanges {
 public:
  explicit FreeRanges(std::uint64_t begin) : end_(begin) {}

  std::uint64_t end() const { return end_; }
  std::uint64_t take(std::uint64_t bytes) {
    const auto fits = by_size_.lower_bound({bytes, 0});
    if (fits != by_size_.end()) {
      const auto [size, offset] = *fits;
      erase(offset, size);
      if (size > bytes) insert(offset + bytes, size - bytes);
      return offset;
    }
    std::uint64_t offset = end_;
    if (!by_offset_.empty()) {
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == end_) {
        offset = last;
        erase(last, size);
      }
    }
    end_ = offset + bytes;
    return offset;
  }
  void give_back(std::uint64_t offset, std::uint64_t bytes) {
    const auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.begin()) {
      const auto [begin, size] = *std::prev(after);
      if (begin + size == offset) {
        erase(begin, size);
        offset = begin;
        bytes += size;
      }
    }
    if (const auto next = by_offset_.find(offset + bytes); next != by_offset_.end()) {
      const std::uint64_t size = next->second;
      erase(offset + bytes, size);
      bytes += size;
    }
    insert(offset, bytes);
  }

 private:
  void insert(std::uint64_t offset, std::uint64_t bytes) {
    by_offset_[offset] = bytes;
    by_size_.insert({bytes, offset});
  }
  void erase(std::uint64_t offset, std::uint64_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::map<std::uint64_t, std::uint64_t> by_offset_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;
  std::uint64_t end_;
};

// Above `begin`. Returns their end.
std::uint64_t place_by_time(std::span<Block> blocks, std::uint64_t begin, std::size_t events) {
  std::vector<Block*> at(events, nullptr);
  for (Block& block : blocks) {
    at[static_cast<std::size_t>(block.born)] = at[static_cast<std::size_t>(block.dead)] = &block;
  }
  FreeRanges free(begin);
  for (std::size_t time = 0; time < events; ++time) {
    if (at[time] == nullptr) continue;
    Block& block = *at[time];
    if (static_cast<std::size_t>(block.born) == time) {
      block.offset = free.take(block.bytes);
    } else {
      free.give_back(block.offset, block.bytes);
    }
  }
  return free.end();
}

}  // namespace

StepPlan solve(StepRecord record, const std::vector<bool>& escaped) {
  std::vector<Block> blocks = blocks_of(record, escaped);
  StepPlan plan;
  plan.lower_bound = most_alive(blocks, record.events.size());
  plan.offsets.assign(record.sizes.size(), StepPlan::kNoPosition);
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const Block& a, const Block& b) { return a.bytes > b.bytes; });
  const std::size_t large = std::min(blocks.size(), kMostBySize);
  std::vector<Block> placed;
  placed.reserve(large);
  for (Block& block : std::span(blocks).first(large)) {
    block.offset = lowest_gap(placed, block);
    plan.arena_bytes = std::max(plan.arena_bytes, block.offset + block.bytes);
    auto position =
        std::upper_bound(placed.begin(), placed.end(), block,
                         [](const Block& a, const Block& b) { return a.offset < b.offset; });
    placed.insert(position, block);
  }
  plan.arena_bytes =
      place_by_time(std::span(blocks).subspan(large), plan.arena_bytes, record.events.size());
  for (const Block& block : blocks) {
    plan.offsets[static_cast<std::size_t>(block.number)] = block.offset;
  }
  plan.record = std::move(record);
  return plan;
}

}  // namespace trivet
