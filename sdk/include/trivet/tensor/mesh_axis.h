// SPDX-License-Identifier: Apache-2.0
// MeshAxis: the devices along one axis of a mesh. A layer that splits its work over an axis
// computes one block for each device: block i of a dimension of n elements has [i n / extent, (i +
// 1) n / extent). Blocks are added in the order of tree(), which the mesh fixes, so sums have the
// same bits wherever blocks are computed.
//
// Several processes may share an axis. Each has a run of its blocks, and the ops of
// trivet/ops/ops_mesh.h exchange what is of the others: all processes make the same calls.
#pragma once

#include <cstdint>
#include <memory>

#include "trivet/backend/sum_tree.h"
#include "trivet/base/export.h"

namespace trivet {

class ProcessGroup;  // trivet/backend/process_group.h

namespace detail {
class AxisProcesses;
}

class TRIVET_API MeshAxis {
 public:
  MeshAxis() = default;  // one device
  // All blocks are of this process. Throws Error for an extent below 1.
  explicit MeshAxis(std::int64_t extent);
  // The same for an axis over slices, whose tree has two extents.
  explicit MeshAxis(SumTree tree);
  // Each process of the group has as many blocks, in the order of ranks. Throws Error for a group
  // whose size does not divide them so that each process has a subtree of the tree.
  MeshAxis(const SumTree& tree, std::shared_ptr<ProcessGroup> group);
  // The blocks of the first of so many processes, without the others: for meta devices
  // (trivet/tensor/meta_device.h).
  static MeshAxis of_first_process(const SumTree& tree, std::int64_t processes);

  // Devices, and so blocks.
  std::int64_t extent() const { return tree_.size(); }
  bool is_split() const { return extent() > 1; }
  // Of this process: the blocks first(), first() + 1, ...
  std::int64_t first() const { return first_; }
  std::int64_t count() const { return own_tree_.size(); }
  // Whether other processes have some of the blocks.
  bool is_shared() const { return count() < extent(); }
  // The order in which what the blocks have is added. That of the blocks of a process is a part.
  const SumTree& tree() const { return tree_; }
  const SumTree& own_tree() const { return own_tree_; }

  // The devices of each process as one: an axis over which whole totals of processes are exchanged.
  MeshAxis of_processes() const;
  // Those that share the axis; null: this process has all blocks, or is alone on a meta device.
  const std::shared_ptr<detail::AxisProcesses>& processes() const { return processes_; }

 private:
  SumTree tree_, own_tree_, process_tree_;
  std::int64_t first_ = 0;
  std::shared_ptr<detail::AxisProcesses> processes_;
};

}  // namespace trivet
