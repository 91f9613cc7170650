// SPDX-License-Identifier: Apache-2.0
#include "layer/block_units.h"

#include <algorithm>

namespace trivet::detail {
namespace {

// A transfer of so much takes much longer than the latency of most networks.
constexpr std::int64_t kLeastUnit = std::int64_t{1} << 18;

}  // namespace

BlockUnits::BlockUnits(std::span<const std::int64_t> ends) {
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    if (end - begin < kLeastUnit) continue;
    ends_.push_back(begin = end);
  }
  const std::int64_t size = ends.empty() ? 0 : ends.back();
  if (ends_.empty() || ends_.back() < size) ends_.push_back(size);
}

std::size_t BlockUnits::unit_at(std::int64_t element) const {
  const auto found = std::ranges::upper_bound(ends_, element);
  return static_cast<std::size_t>(std::min(found, ends_.end() - 1) - ends_.begin());
}

BlockUnits::Range BlockUnits::part(std::size_t unit, const MeshShards& shards,
                                   std::int64_t rank) const {
  const Range whole = (*this)[unit];
  const Range part = shards.part_of(whole.size(), rank);
  return {whole.begin + part.begin, whole.begin + part.end};
}

OwnParts::OwnParts(BlockUnits units, const MeshShards* shards) : units_(std::move(units)) {
  for (std::size_t unit = 0; unit < units_.count(); ++unit) {
    const Range range =
        shards != nullptr ? units_.part(unit, *shards, shards->own_rank()) : units_[unit];
    parts_.push_back({range, size_});
    size_ += range.size();
  }
}

OwnParts::Overlap OwnParts::overlap(Range range) const {
  const auto& [own, position] = parts_[units_.unit_at(range.begin)];
  const Range common{std::clamp(range.begin, own.begin, own.end),
                     std::clamp(range.end, own.begin, own.end)};
  return {common, position + common.begin - own.begin};
}

}  // namespace trivet::detail
