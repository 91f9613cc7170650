// SPDX-License-Identifier: Apache-2.0
#include "trivet/tensor/mesh_shards.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "exchange/process_sum.h"
#include "exchange/slice_choice.h"
#include "tensor/device_impl.h"
#include "tensor/host_block.h"
#include "tensor/packing.h"
#include "tensor/tensor_impl.h"
#include "tensor/unit_transfer.h"
#include "trivet/backend/mesh.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/backend/process_group.h"
#include "trivet/error.h"
#include "trivet/tensor/device.h"
#include "trivet/tensor/exchange_log.h"

namespace trivet {
namespace {

// The elements of a piece, where it is not one of the last ones.
std::int64_t piece_length(std::int64_t elements, std::int64_t pieces) {
  constexpr std::int64_t kMultiple = 16;  // as variables in a block: no vector of a kernel is cut
  const std::int64_t length = (elements + pieces - 1) / pieces;
  return (length + kMultiple - 1) / kMultiple * kMultiple;
}

detail::BlockPart block_part(const MeshShards::Range& range) {
  return {static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size())};
}

std::vector<detail::BlockPart> block_parts(std::span<const MeshShards::Range> ranges) {
  std::vector<detail::BlockPart> parts;
  for (const MeshShards::Range& range : ranges) parts.push_back(block_part(range));
  return parts;
}

std::vector<double> gathered(std::span<const double> own, ProcessGroup* group) {
  if (group == nullptr) return {own.begin(), own.end()};
  std::vector<double> values(own.size() * static_cast<std::size_t>(group->size()));
  group->all_gather(std::as_bytes(own), std::as_writable_bytes(std::span(values)));
  return values;
}

std::vector<std::int64_t> ranks_below(std::int64_t processes) {
  std::vector<std::int64_t> ranks(static_cast<std::size_t>(processes));
  std::iota(ranks.begin(), ranks.end(), std::int64_t{0});
  return ranks;
}

// How many processes exchange, and between how many slices.
detail::ProcessSum::Sharing sharing_of(const MeshLayout& layout,
                                       std::span<const std::int64_t> ranks,
                                       std::int64_t processes) {
  const std::int64_t in_slice = layout.in_slice(ranks, processes);
  return {.processes = ranks.size(),
          .slices = in_slice == 1 ? 1 : ranks.size() / static_cast<std::size_t>(in_slice)};
}

[[noreturn]] void throw_wrong_count(std::int64_t expected, const char* of, std::size_t given) {
  throw Error("this process has " + std::to_string(expected) + " " + of + ", and gives " +
              std::to_string(given) + " numbers");
}

}  // namespace

MeshShards::MeshShards(const MeshConfig& mesh, ProcessGroup* group) {
  const MeshLayout layout(mesh);
  tree_ = own_tree_ = layout.shard_tree();
  pieces_ = piece_count_ = layout.devices();
  overlap_ = mesh.assumed_overlap();
  const bool is_alone = group == nullptr || group->size() == 1;
  const std::int64_t processes = is_alone ? 1 : group->size();
  const std::int64_t rank = is_alone ? 0 : group->rank();
  take_stages(layout, rank, processes);
  if (is_alone) return;
  const MeshLayout::Run own = layout.shards_of(rank, processes);
  all_ = group;
  const auto buffers = std::make_shared<detail::ExchangeBuffers>();
  const auto slices_of = [&](std::span<const std::int64_t> ranks) {
    return detail::SliceChoice{layout.in_slice(ranks, processes), buffers};
  };
  const std::shared_ptr<detail::SliceGather> gather =
      slices_of(ranks_below(processes)).gather(*group);
  parts_ = std::make_shared<detail::PartGather>(*group, buffers, gather);
  piece_count_ = layout.devices() / processes;
  first_piece_ = rank * piece_count_;
  // The group of the processes with the same number, and their ranks.
  const auto part_of = [&](const auto& number, std::vector<std::int64_t>& ranks) {
    const std::int64_t same = number(rank);
    for (std::int64_t other = 0; other < processes; ++other) {
      if (number(other) == same) ranks.push_back(other);
    }
    return std::ssize(ranks) == processes
               ? std::shared_ptr<ProcessGroup>(std::shared_ptr<void>(), group)
               : group->split(static_cast<int>(same));
  };
  const auto stage = [&](std::int64_t other) {
    return layout.coordinates_of(other, processes, MeshLayout::kStageAxis).first;
  };
  if (!locations_.empty()) {
    stage_group_ = part_of(stage, stage_ranks_);
    has_stages_alone_ = stage_ranks_.size() == 1;
    if (has_stages_alone_) stage_group_ = nullptr;
    if (stage_group_ != nullptr) {
      stage_parts_ = std::make_shared<detail::PartGather>(
          *stage_group_, buffers, slices_of(stage_ranks_).gather(*stage_group_));
    }
  }
  if (own.count == total()) return;
  const auto parts = tree_.split(own.count);
  if (!parts) throw Error("the shards of a process are no part of the sum");
  const auto work = [&](std::int64_t other) { return layout.work_of(other, processes); };
  group_ = part_of(work, group_ranks_);
  own_tree_ = parts->first;
  first_ = own.first;
  if (own.count == 1 && std::ssize(group_ranks_) == processes) peers_ = processes;
  const detail::SliceChoice slices = slices_of(group_ranks_);
  const bool is_all = std::ssize(group_ranks_) == processes;
  sums_ = std::make_shared<detail::ProcessSum>(*group_, parts->second, buffers,
                                               slices.sum(*group_, parts->second),
                                               is_all ? gather : slices.gather(*group_));
}

MeshShards MeshShards::of_first_process(const MeshConfig& mesh, std::int64_t peers) {
  MeshShards first(mesh, nullptr);
  // Those that share a shard have no rows apart (RowShare).
  first.peers_ = mesh.processes == 1 ? peers : 1;
  first.take_stages(MeshLayout(mesh), 0, mesh.processes);
  const std::int64_t stages = mesh.extent(MeshLayout::kStageAxis);
  first.has_stages_alone_ = peers == 1 && mesh.processes == stages / first.stage_count_;
  return first;
}

void MeshShards::take_stages(const MeshLayout& layout, std::int64_t rank, std::int64_t processes) {
  const MeshLayout::Run own = layout.coordinates_of(rank, processes, MeshLayout::kStageAxis);
  const std::int64_t stages = layout.coordinates_of(0, 1, MeshLayout::kStageAxis).count;
  first_stage_ = own.first;
  stage_count_ = own.count;
  pieces_of_stage_ = pieces_ / stages;
  locations_.clear();
  if (stages == 1) return;
  std::vector<std::int64_t> seen(static_cast<std::size_t>(stages));
  for (std::int64_t device = 0; device < pieces_; ++device) {
    const std::int64_t stage = layout.coordinate(device, MeshLayout::kStageAxis);
    locations_.push_back({stage, seen[static_cast<std::size_t>(stage)]++});
  }
}

MeshShards::Range MeshShards::piece(std::int64_t elements, std::int64_t index) const {
  const std::int64_t length = piece_length(elements, pieces_);
  return {std::min(index * length, elements), std::min((index + 1) * length, elements)};
}

MeshShards::Range MeshShards::piece_of_stage(std::int64_t elements, std::int64_t index,
                                             std::int64_t stage) const {
  const Location& location = locations_.at(static_cast<std::size_t>(index));
  if (location.stage != stage) return {};
  const std::int64_t length = piece_length(elements, pieces_of_stage_);
  return {std::min(location.index * length, elements),
          std::min((location.index + 1) * length, elements)};
}

MeshShards::Range MeshShards::part_of(std::int64_t elements, std::int64_t rank) const {
  return {piece(elements, rank * piece_count_).begin,
          piece(elements, (rank + 1) * piece_count_ - 1).end};
}

std::vector<MeshShards::Range> MeshShards::parts_of(std::int64_t elements) const {
  std::vector<Range> parts;
  for (std::int64_t rank = 0; rank < pieces_ / piece_count_; ++rank) {
    parts.push_back(part_of(elements, rank));
  }
  return parts;
}

MeshShards::Range MeshShards::own_of(std::span<const Range> parts) const {
  return parts[static_cast<std::size_t>(own_rank())];
}

ExchangeLog* MeshShards::exchange_log() const {
  return all_ != nullptr ? all_->exchange_log() : nullptr;
}

std::int64_t MeshShards::overlap() const {
  const ExchangeLog* const log = exchange_log();
  return log != nullptr ? log->overlap().value_or(overlap_) : overlap_;
}

bool MeshShards::is_cut(std::int64_t elements) {
  return detail::ProcessSum::is_cut(elements);
}

void MeshShards::sum(Tensor& own) const {
  if (group_ == nullptr) return;
  detail::HostBlock block(own);
  sums_->whole(block.values(), block.values());
  block.assign();
}

std::vector<MeshShards::Range> MeshShards::of_group(std::span<const Range> parts) const {
  std::vector<Range> theirs;
  for (const std::int64_t rank : group_ranks_) {
    theirs.push_back(parts[static_cast<std::size_t>(rank)]);
  }
  return theirs;
}

void MeshShards::sum_to_part(const Tensor& own, std::span<const Range> parts, Tensor& part) const {
  if (group_ == nullptr) {
    const Range mine = own_of(parts);
    if (mine.size() == 0) return;
    const std::int64_t stride = 1;
    const Tensor from = view_of(own, {mine.size()}, &stride, mine.begin);
    const tv_view to = part.mutable_view();
    if (to.data != from.view().data) detail::copy_into(to, from);
    return;
  }
  const bool is_direct = own.device().host_visible();
  const std::vector<float> copy = is_direct ? std::vector<float>() : own.to_host<float>();
  const std::span<const float> values = is_direct ? own.span<float>() : std::span(copy);
  detail::HostBlock block(part);
  sums_->part(values, block_parts(of_group(parts)), block.values());
  block.assign();
}

std::unique_ptr<Transfer> MeshShards::start_sum_to_part(const Tensor& own,
                                                        std::span<const Range> parts,
                                                        Tensor& part) const {
  std::unique_ptr<Transfer> transfer;
  detail::WatchedExchange watched(exchange_log(), UnitExchange::Kind::sum, own);
  Device& device = own.device();
  if (group_ != nullptr && device.host_visible()) {
    transfer = sums_->start_part(own.span<float>(), block_parts(of_group(parts)),
                                 part.mutable_span<float>());
  }
  if (transfer != nullptr) {
    device.impl().sending = parts_->group();
  } else {
    sum_to_part(own, parts, part);
    if (group_ != nullptr) watched.end();
  }
  return std::make_unique<detail::UnitTransfer>(std::move(transfer), std::vector{own, part},
                                                watched);
}

void MeshShards::gather_parts(Tensor& block, std::span<const Range> parts) const {
  if (all_ == nullptr) return;
  const detail::BlockPart mine = block_part(own_of(parts));
  detail::HostBlock host(block);
  parts_->gather(host.values().subspan(mine.begin, mine.size), block_parts(parts), host.values());
  host.assign();
}

std::vector<MeshShards::Range> MeshShards::of_stages(std::span<const Range> parts) const {
  std::vector<Range> theirs;
  for (const std::int64_t rank : stage_ranks_) {
    theirs.push_back(parts[static_cast<std::size_t>(rank)]);
  }
  return theirs;
}

void MeshShards::gather_parts(const Tensor& own, std::span<const Range> parts, Tensor& block,
                              Among among) const {
  const bool is_alone = (among == Among::all ? all_ : stage_group_.get()) == nullptr;
  if (is_alone) return detail::copy_into(block.mutable_view(), own);
  const std::vector<detail::BlockPart> theirs =
      among == Among::all ? block_parts(parts) : block_parts(of_stages(parts));
  detail::PartGather& gather = among == Among::all ? *parts_ : *stage_parts_;
  if (block.device().host_visible()) {
    return gather.gather(own.span<float>(), theirs, block.mutable_span<float>());
  }
  std::vector<float> all(static_cast<std::size_t>(block.size()));
  gather.gather(own.to_host<float>(), theirs, all);
  block.assign_bytes(std::as_bytes(std::span(all)));
}

std::unique_ptr<Transfer> MeshShards::start_gather_parts(const Tensor& own,
                                                         std::span<const Range> parts,
                                                         Tensor& block, Among among) const {
  std::unique_ptr<Transfer> transfer;
  const auto kind =
      among == Among::all ? UnitExchange::Kind::gather : UnitExchange::Kind::gather_of_stages;
  detail::WatchedExchange watched(exchange_log(), kind, block);
  Device& device = block.device();
  const bool is_alone = (among == Among::all ? all_ : stage_group_.get()) == nullptr;
  if (!is_alone && device.host_visible()) {
    const std::vector<detail::BlockPart> theirs =
        among == Among::all ? block_parts(parts) : block_parts(of_stages(parts));
    detail::PartGather& gather = among == Among::all ? *parts_ : *stage_parts_;
    transfer = gather.start(own.span<float>(), theirs, block.mutable_span<float>());
  }
  if (transfer != nullptr) {
    device.impl().sending = parts_->group();
  } else {
    gather_parts(own, parts, block, among);
    if (!is_alone) watched.end();
  }
  return std::make_unique<detail::UnitTransfer>(std::move(transfer), std::vector{own, block},
                                                watched);
}

std::int64_t MeshShards::segment(std::int64_t processes) {
  return static_cast<std::int64_t>(detail::segment_of(static_cast<std::size_t>(processes)));
}

bool MeshShards::sends_to_each(std::int64_t elements, std::int64_t processes) {
  return detail::sends_to_each(static_cast<std::size_t>(elements),
                               static_cast<std::size_t>(processes));
}

bool MeshShards::are_uneven(std::span<const std::int64_t> parts) {
  std::vector<detail::BlockPart> sizes;
  for (const std::int64_t part : parts) sizes.push_back(block_part({0, part}));
  return detail::are_uneven(sizes);
}

std::vector<MeshShards::Range> MeshShards::even_parts(std::int64_t elements,
                                                      std::int64_t processes) {
  std::vector<Range> ranges;
  for (const detail::BlockPart& part : detail::even_parts(static_cast<std::size_t>(elements),
                                                          static_cast<std::size_t>(processes))) {
    ranges.push_back(
        {static_cast<std::int64_t>(part.begin), static_cast<std::int64_t>(part.end())});
  }
  return ranges;
}

std::uint64_t MeshShards::exchange_bytes(std::int64_t elements, const MeshConfig& mesh) {
  const std::int64_t devices = mesh.devices();
  return exchange_bytes(elements, piece_length(elements, devices) * (devices / mesh.processes),
                        mesh);
}

std::uint64_t MeshShards::exchange_bytes(std::int64_t elements, std::int64_t longest_part,
                                         const MeshConfig& mesh) {
  if (mesh.processes == 1) return 0;
  const MeshLayout layout(mesh);
  std::vector<std::int64_t> ranks = ranks_below(mesh.processes);
  const auto all = sharing_of(layout, ranks, mesh.processes);
  std::erase_if(ranks, [&](std::int64_t rank) {
    return layout.work_of(rank, mesh.processes) != layout.work_of(0, mesh.processes);
  });
  const auto sharing = sharing_of(layout, ranks, mesh.processes);
  const std::int64_t group = std::ssize(ranks);
  const std::int64_t even = even_parts(elements, group).front().size();
  const bool is_uneven = group > 2 && longest_part > 2 * even;
  std::size_t floats =
      detail::ProcessSum::buffer_floats(static_cast<std::size_t>(elements), sharing, all,
                                        static_cast<std::size_t>(is_uneven ? even : longest_part));
  // An even part; and where processes with other blocks own what lies between, all of them.
  if (is_uneven) floats += static_cast<std::size_t>(even + (group < mesh.processes ? elements : 0));
  return floats * sizeof(float);
}

std::vector<double> MeshShards::gather(std::span<const double> own) const {
  if (std::ssize(own) != count()) throw_wrong_count(count(), "shards", own.size());
  return gathered(own, group_.get());
}

std::vector<double> MeshShards::gather_pieces(std::span<const double> own) const {
  const auto count = static_cast<std::size_t>(piece_count_);
  if (own.empty() || own.size() % count != 0) {
    throw_wrong_count(piece_count_, "pieces", own.size());
  }
  const std::vector<double> by_process = gathered(own, all_);
  std::vector<double> by_block;
  for (std::size_t block = 0; block < own.size(); block += count) {
    for (std::size_t start = block; start < by_process.size(); start += own.size()) {
      const auto first = by_process.begin() + static_cast<std::ptrdiff_t>(start);
      by_block.insert(by_block.end(), first, first + static_cast<std::ptrdiff_t>(count));
    }
  }
  return by_block;
}

void MeshShards::any(std::span<std::uint8_t> flags) const {
  if (group_ == nullptr) return;
  std::vector<std::uint8_t> all(flags.size() * static_cast<std::size_t>(group_->size()));
  group_->all_gather(std::as_bytes(flags), std::as_writable_bytes(std::span(all)));
  std::ranges::fill(flags, std::uint8_t{0});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != 0) flags[i % flags.size()] = 1;
  }
}

}  // namespace trivet
