// SPDX-License-Identifier: Apache-2.0
// Where the devices, shards and processes of a mesh are. Arithmetic alone: no process is started.
//
// Devices are numbered by slice, then within the slice; in both row-major over the axes in the
// order of mesh_axis_names. A slice is so a run of numbers. Process p of P has the devices
// [p D / P, (p + 1) D / P).
//
// A shard is what the devices of equal coordinates along replica, data and data_expert have of a
// batch. Shards are numbered as devices are, over these axes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/backend/mesh.h"
#include "trivet/backend/sum_tree.h"
#include "trivet/base/export.h"

namespace trivet {

class TRIVET_API MeshLayout {
 public:
  // Along this axis devices have the same shard, and blocks of what layers compute
  // (trivet/tensor/mesh_axis.h).
  static constexpr std::string_view kBlockAxis = "mdl";
  // Along this one they have the same shard, and layers of their own (trivet/layer/pipeline.h).
  static constexpr std::string_view kStageAxis = "stage";
  // And along this one positions of their own (trivet/layer/sequence_blocks.h).
  static constexpr std::string_view kSequenceAxis = "seq";
  static constexpr std::array kInnerAxes = {kBlockAxis, kStageAxis, kSequenceAxis};

  // Shapes and axes of the mesh must be valid (MeshConfig::validate).
  explicit MeshLayout(const MeshConfig& mesh);

  std::int64_t devices() const { return devices_; }
  // Along an axis: that of the slice times the slice's extent, plus that within the slice. 0 for an
  // axis that the mesh does not have. Throws Error unless 0 <= device < devices().
  std::int64_t coordinate(std::int64_t device, std::string_view axis) const;

  std::int64_t shards() const { return shard_tree_.size(); }
  std::int64_t shard_of(std::int64_t device) const;
  // The order in which what the shards have is added.
  const SumTree& shard_tree() const { return shard_tree_; }

  // Whether so many processes can share the devices: each has a box of them, and along each axis
  // that is summed over all coordinates, or a power of two of them. Then the sum of its own values
  // is a subtree of every sum.
  bool can_share(std::int64_t processes) const;
  // All that can, ascending.
  std::vector<std::int64_t> process_counts() const;

  struct Run {
    std::int64_t first = 0, count = 1;
    bool operator==(const Run&) const = default;
  };
  std::int64_t slices() const { return slices_; }
  // Those of the devices of a process. Throws Error as below.
  Run slices_of(std::int64_t rank, std::int64_t processes) const;
  // How many processes of each slice exchange within it before they exchange between slices, of
  // these ranks, which are ascending. 1: all exchange with all, as they are in one slice, or are
  // not as many in each, or a process spans several. Throws Error as below.
  std::int64_t in_slice(std::span<const std::int64_t> ranks, std::int64_t processes) const;
  // The shards of the devices of a process, and their coordinates along an axis. Both throw Error
  // unless the processes can share the devices and 0 <= rank < processes.
  Run shards_of(std::int64_t rank, std::int64_t processes) const;
  Run coordinates_of(std::int64_t rank, std::int64_t processes, std::string_view axis) const;
  // Equal for processes whose devices have the same coordinates along kInnerAxes, apart from one of
  // them. Throws as coordinates_of.
  std::int64_t work_of(std::int64_t rank, std::int64_t processes,
                       std::string_view apart_from = {}) const;

 private:
  std::int64_t first_device(std::int64_t rank, std::int64_t processes) const;

  // One axis within a slice, or over slices.
  struct Digit {
    std::string axis;
    std::int64_t extent = 1;
    bool is_summed = false;  // gradients, or products of parts of a depth
    bool is_batch = false;
  };

  std::vector<Digit> digits_;  // the outermost first
  std::int64_t devices_ = 1, slices_ = 1;
  SumTree shard_tree_;
};

}  // namespace trivet
