// SPDX-License-Identifier: Apache-2.0
// MeshAxis: the devices along one axis of a mesh. A layer that splits its work over an axis
// computes one block for each device: block i of a dimension of n elements has [i n / extent, (i +
// 1) n / extent). Blocks are added in the order of tree(), which the mesh fixes, so sums have the
// same bits wherever blocks are computed.
#pragma once

#include <cstdint>

#include "trivet/backend/sum_tree.h"
#include "trivet/base/export.h"

namespace trivet {

class TRIVET_API MeshAxis {
 public:
  MeshAxis() = default;  // one device
  // All blocks are of this process. Throws Error for an extent below 1.
  explicit MeshAxis(std::int64_t extent);
  // The same for an axis over slices, whose tree has two extents.
  explicit MeshAxis(SumTree tree);

  // Devices, and so blocks.
  std::int64_t extent() const { return extent_; }
  bool is_split() const { return extent_ > 1; }
  // Of this process: the blocks first(), first() + 1, ...
  std::int64_t first() const { return 0; }
  std::int64_t count() const { return extent_; }
  // The order in which what the blocks have is added.
  const SumTree& tree() const { return tree_; }

 private:
  SumTree tree_;
  std::int64_t extent_ = 1;
};

}  // namespace trivet
