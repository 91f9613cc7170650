// SPDX-License-Identifier: Apache-2.0
#include "layer/block_units.h"

#include <algorithm>
#include <iterator>

namespace trivet::detail {
namespace {

// A transfer of so much takes much longer than the latency of most networks.
constexpr std::int64_t kLeastUnit = std::int64_t{1} << 18;

}  // namespace

BlockUnits::BlockUnits(std::span<const Variable> variables) {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto& [end, stage, is_apart] = variables[i];
    const bool is_last = i + 1 == variables.size() || variables[i + 1].stage != stage ||
                         variables[i + 1].is_apart || is_apart;
    if (end - begin < kLeastUnit && !is_last) continue;
    ends_.push_back(begin = end);
    stages_.push_back(stage);
  }
  if (!ends_.empty()) return;
  ends_.push_back(0);
  stages_.push_back(Parameter::kEveryStage);
}

std::size_t BlockUnits::unit_at(std::int64_t element) const {
  const auto found = std::ranges::upper_bound(ends_, element);
  return static_cast<std::size_t>(std::min(found, ends_.end() - 1) - ends_.begin());
}

UnitParts::Range UnitParts::of_device(std::size_t unit, std::int64_t device) const {
  const Range whole = units_[unit];
  if (has_whole_variables()) {
    const std::vector<Owner>& owners = owners_[unit];
    const auto found = std::ranges::lower_bound(owners, device, {}, &Owner::device);
    const std::int64_t begin = found == owners.begin() ? whole.begin : std::prev(found)->end;
    const bool owns = found != owners.end() && found->device == device;
    return {begin, owns ? found->end : begin};
  }
  const Range piece = units_.is_of_stage(unit)
                          ? shards_.piece_of_stage(whole.size(), device, units_.stage(unit))
                          : shards_.piece(whole.size(), device);
  return {whole.begin + piece.begin, whole.begin + piece.end};
}

std::int64_t UnitParts::owner_of(std::int64_t element) const {
  const std::vector<Owner>& owners = owners_[units_.unit_at(element)];
  return std::ranges::upper_bound(owners, element, {}, &Owner::end)->device;
}

UnitParts::Range UnitParts::of_rank(std::size_t unit, std::int64_t rank) const {
  const std::int64_t first = rank * shards_.piece_count();
  Range part;
  for (std::int64_t device = first; device < first + shards_.piece_count(); ++device) {
    const Range piece = of_device(unit, device);
    if (part.size() == 0) {
      part = piece;
    } else if (piece.size() > 0) {
      part.end = piece.end;
    }
  }
  return part;
}

std::vector<UnitParts::Range> UnitParts::in_unit(std::size_t unit) const {
  const std::int64_t start = units_[unit].begin;
  std::vector<Range> parts;
  for (std::int64_t rank = 0; rank < shards_.pieces() / shards_.piece_count(); ++rank) {
    const Range part = of_rank(unit, rank);
    parts.push_back({part.begin - start, part.end - start});
  }
  return parts;
}

OwnParts::OwnParts(std::shared_ptr<const UnitParts> all, Has has) : all_(std::move(all)) {
  for (std::size_t unit = 0; unit < units().count(); ++unit) {
    const Range range = has == Has::own ? all_->own(unit) : units()[unit];
    parts_.push_back({range, size_});
    size_ += range.size();
  }
}

OwnParts::Overlap OwnParts::overlap(Range range) const {
  const auto& [own, position] = parts_[units().unit_at(range.begin)];
  const Range common{std::clamp(range.begin, own.begin, own.end),
                     std::clamp(range.end, own.begin, own.end)};
  return {common, position + common.begin - own.begin};
}

}  // namespace trivet::detail
