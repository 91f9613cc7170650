// SPDX-License-Identifier: Apache-2.0
// BlockUnits: a flat block of variables, cut into units: ranges that are shared by the processes of
// a mesh (MeshShards) one by one. No variable is in two units.
//
// UnitParts: which elements of each unit belong to each device of the mesh, and so to the process
// that has the device. All that exchange or update parts ask it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "trivet/tensor/mesh_shards.h"

namespace trivet::detail {

class BlockUnits {
 public:
  using Range = MeshShards::Range;

  // The block as one unit.
  explicit BlockUnits(std::int64_t size) : ends_{size} {}
  // Units of at least a MiB of floats, where there are so many. `ends` are those of the variables.
  explicit BlockUnits(std::span<const std::int64_t> ends);

  std::size_t count() const { return ends_.size(); }
  std::int64_t size() const { return ends_.back(); }
  Range operator[](std::size_t unit) const { return {begin_of(unit), ends_[unit]}; }
  // The unit that has an element of the block.
  std::size_t unit_at(std::int64_t element) const;

 private:
  std::int64_t begin_of(std::size_t unit) const { return unit == 0 ? 0 : ends_[unit - 1]; }

  std::vector<std::int64_t> ends_;
};

// Equal pieces (MeshShards::piece). Those of a device in a unit are one range, and so are those of
// a process, whose devices are neighbors.
class UnitParts {
 public:
  using Range = BlockUnits::Range;
  UnitParts(BlockUnits units, const MeshShards& shards)
      : units_(std::move(units)), shards_(shards) {}

  const BlockUnits& units() const { return units_; }
  // Elements of the block.
  Range of_device(std::size_t unit, std::int64_t device) const;
  Range of_rank(std::size_t unit, std::int64_t rank) const;
  Range own(std::size_t unit) const { return of_rank(unit, shards_.own_rank()); }
  // Of each rank, as elements of the unit: what MeshShards exchanges.
  std::vector<Range> in_unit(std::size_t unit) const;

 private:
  BlockUnits units_;
  MeshShards shards_;
};

// The parts of one process in all units, in their order, one part after another.
class OwnParts {
 public:
  using Range = BlockUnits::Range;
  struct Overlap {
    Range range;                // elements of the block
    std::int64_t position = 0;  // of the first one among all that the process has
    std::int64_t end() const { return position + range.size(); }
  };

  // Whether it has its parts, or all of them.
  enum class Has { own, all };
  OwnParts(std::shared_ptr<const UnitParts> all, Has has);

  const UnitParts& all() const { return *all_; }
  const BlockUnits& units() const { return all_->units(); }
  std::int64_t size() const { return size_; }
  const Overlap& part(std::size_t unit) const { return parts_[unit]; }
  // The part of the process in a range, which is in one unit.
  Overlap overlap(Range range) const;

 private:
  std::shared_ptr<const UnitParts> all_;
  std::vector<Overlap> parts_;
  std::int64_t size_ = 0;
};

}  // namespace trivet::detail
