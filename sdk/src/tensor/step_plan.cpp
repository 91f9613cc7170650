// SPDX-License-Identifier: Apache-2.0
// Solves the offsets of a step's allocations (dynamic storage allocation, offline, greedy by size).
#include "tensor/step_plan.h"

#include <algorithm>
#include <numeric>

namespace trivet {
namespace {

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

}  // namespace

StepPlan solve(StepRecord record, const std::vector<bool>& escaped) {
  std::vector<Block> blocks = blocks_of(record, escaped);
  StepPlan plan;
  plan.lower_bound = most_alive(blocks, record.events.size());
  plan.offsets.assign(record.sizes.size(), StepPlan::kNoPosition);
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const Block& a, const Block& b) { return a.bytes > b.bytes; });
  std::vector<Block> placed;
  placed.reserve(blocks.size());
  for (Block& block : blocks) {
    block.offset = lowest_gap(placed, block);
    plan.offsets[static_cast<std::size_t>(block.number)] = block.offset;
    plan.arena_bytes = std::max(plan.arena_bytes, block.offset + block.bytes);
    auto position =
        std::upper_bound(placed.begin(), placed.end(), block,
                         [](const Block& a, const Block& b) { return a.offset < b.offset; });
    placed.insert(position, block);
  }
  plan.record = std::move(record);
  return plan;
}

}  // namespace trivet
