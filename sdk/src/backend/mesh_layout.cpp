// SPDX-License-Identifier: Apache-2.0
#include "trivet/backend/mesh_layout.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "trivet/error.h"

namespace trivet {
namespace {

constexpr std::array<std::string_view, 3> kBatchAxes = {"replica", "data", "data_expert"};

}  // namespace

MeshLayout::MeshLayout(const MeshConfig& mesh) {
  std::vector<std::int64_t> batch_extents;
  for (const auto* shape : {&mesh.dcn_mesh_shape, &mesh.ici_mesh_shape}) {
    for (std::size_t i = 0; i < shape->size(); ++i) {
      Digit digit{.axis = mesh.mesh_axis_names.at(i), .extent = (*shape)[i]};
      digit.is_batch = std::ranges::find(kBatchAxes, digit.axis) != kBatchAxes.end();
      digit.is_summed = digit.is_batch || digit.axis == kBlockAxis || digit.axis == kSequenceAxis;
      devices_ *= digit.extent;
      if (digit.is_batch) batch_extents.push_back(digit.extent);
      digits_.push_back(digit);
    }
  }
  for (const std::int64_t extent : mesh.dcn_mesh_shape) slices_ *= extent;
  shard_tree_ = SumTree(batch_extents);
}

std::int64_t MeshLayout::coordinate(std::int64_t device, std::string_view axis) const {
  if (device < 0 || device >= devices_) {
    throw Error("a mesh of " + std::to_string(devices_) + " devices has none of number " +
                std::to_string(device));
  }
  std::int64_t found = 0, unit = 1;
  for (std::size_t i = digits_.size(); i-- > 0;) {
    const Digit& digit = digits_[i];
    if (digit.axis == axis) {
      found += device % digit.extent * unit;
      unit *= digit.extent;
    }
    device /= digit.extent;
  }
  return found;
}

std::int64_t MeshLayout::shard_of(std::int64_t device) const {
  if (device < 0 || device >= devices_) {
    throw Error("a mesh of " + std::to_string(devices_) + " devices has none of number " +
                std::to_string(device));
  }
  std::int64_t shard = 0, unit = 1;
  for (std::size_t i = digits_.size(); i-- > 0;) {
    const Digit& digit = digits_[i];
    if (digit.is_batch) {
      shard += device % digit.extent * unit;
      unit *= digit.extent;
    }
    device /= digit.extent;
  }
  return shard;
}

bool MeshLayout::can_share(std::int64_t processes) const {
  if (processes < 1 || devices_ % processes != 0) return false;
  std::int64_t rest = devices_ / processes;
  for (std::size_t i = digits_.size(); i-- > 0 && rest > 1;) {
    const auto& [axis, extent, is_summed, is_batch] = digits_[i];
    if (rest % extent == 0) {
      rest /= extent;
      continue;
    }
    const bool is_power = std::has_single_bit(static_cast<std::uint64_t>(rest));
    if (extent % rest != 0 || (is_summed && !is_power)) return false;
    rest = 1;
  }
  return rest == 1;
}

std::int64_t MeshLayout::first_device(std::int64_t rank, std::int64_t processes) const {
  if (!can_share(processes)) {
    throw Error(std::to_string(processes) + " processes cannot share the " +
                std::to_string(devices_) + " devices of the mesh");
  }
  if (rank < 0 || rank >= processes) {
    throw Error(std::to_string(processes) + " processes have none of rank " + std::to_string(rank));
  }
  return rank * (devices_ / processes);
}

// The devices of a process are a box: the first and the last one have the ends of each run.
MeshLayout::Run MeshLayout::shards_of(std::int64_t rank, std::int64_t processes) const {
  const std::int64_t device = first_device(rank, processes), first = shard_of(device);
  return {first, shard_of(device + devices_ / processes - 1) - first + 1};
}

MeshLayout::Run MeshLayout::coordinates_of(std::int64_t rank, std::int64_t processes,
                                           std::string_view axis) const {
  const std::int64_t device = first_device(rank, processes), first = coordinate(device, axis);
  return {first, coordinate(device + devices_ / processes - 1, axis) - first + 1};
}

MeshLayout::Run MeshLayout::slices_of(std::int64_t rank, std::int64_t processes) const {
  const std::int64_t first = first_device(rank, processes), in_slice = devices_ / slices_;
  const std::int64_t slice = first / in_slice;
  return {slice, (first + devices_ / processes - 1) / in_slice - slice + 1};
}

std::int64_t MeshLayout::in_slice(std::span<const std::int64_t> ranks,
                                  std::int64_t processes) const {
  if (slices_ == 1 || processes % slices_ != 0 || ranks.empty()) return 1;
  const auto slice_of = [&](std::int64_t rank) { return slices_of(rank, processes).first; };
  const std::int64_t first = slice_of(ranks.front());
  const std::int64_t count = std::ranges::count(ranks, first, slice_of), all = std::ssize(ranks);
  if (count == 1 || count == all || all % count != 0) return 1;
  for (std::size_t i = 0; i < ranks.size(); i += static_cast<std::size_t>(count)) {
    const std::span<const std::int64_t> run = ranks.subspan(i, static_cast<std::size_t>(count));
    const std::int64_t slice = slice_of(run.front());
    if (std::ranges::count(ranks, slice, slice_of) != count) return 1;
    if (std::ranges::count(run, slice, slice_of) != count) return 1;
  }
  return count;
}

std::int64_t MeshLayout::work_of(std::int64_t rank, std::int64_t processes,
                                 std::string_view apart_from) const {
  std::int64_t work = 0;
  for (const std::string_view axis : kInnerAxes) {
    if (axis == apart_from) continue;
    work = work * coordinates_of(0, 1, axis).count + coordinates_of(rank, processes, axis).first;
  }
  return work;
}

std::vector<std::int64_t> MeshLayout::process_counts() const {
  std::vector<std::int64_t> counts;
  for (std::int64_t count = 1; count <= devices_; ++count) {
    if (can_share(count)) counts.push_back(count);
  }
  return counts;
}

}  // namespace trivet
