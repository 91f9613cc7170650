// SPDX-License-Identifier: Apache-2.0
// BlockUnits: a flat block of variables, cut into units: ranges that are shared by the processes of
// a mesh (MeshShards) one by one. No variable is in two units. A variable begins at a multiple of
// 16 floats (64 bytes).
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

#include "trivet/layer/parameter_store.h"
#include "trivet/ops.h"
#include "trivet/tensor.h"
#include "trivet/tensor/mesh_shards.h"

namespace trivet::detail {

// The elements that a variable takes in a block.
inline std::int64_t padded(std::int64_t elements) {
  constexpr std::int64_t kSegmentFloats = 16;
  return (elements + kSegmentFloats - 1) / kSegmentFloats * kSegmentFloats;
}

inline Tensor part_of(const Tensor& block, std::int64_t begin, std::int64_t end) {
  return ops::slice(block, 0, begin, end);
}

class BlockUnits {
 public:
  using Range = MeshShards::Range;

  // The block as one unit.
  explicit BlockUnits(std::int64_t size) : ends_{size}, stages_{Parameter::kEveryStage} {}
  // Units of at least a MiB of floats, where there are so many.
  struct Variable {
    std::int64_t end = 0;
    std::int64_t stage = Parameter::kEveryStage;
    bool is_apart = false;  // a unit of its own
  };
  explicit BlockUnits(std::span<const Variable> variables);

  std::size_t count() const { return ends_.size(); }
  std::int64_t size() const { return ends_.back(); }
  Range operator[](std::size_t unit) const { return {begin_of(unit), ends_[unit]}; }
  // The unit that has an element of the block.
  std::size_t unit_at(std::int64_t element) const;
  // That of its variables (Parameter::stage).
  std::int64_t stage(std::size_t unit) const { return stages_[unit]; }
  bool is_of_stage(std::size_t unit) const { return stage(unit) != Parameter::kEveryStage; }

 private:
  std::int64_t begin_of(std::size_t unit) const { return unit == 0 ? 0 : ends_[unit - 1]; }

  std::vector<std::int64_t> ends_;
  std::vector<std::int64_t> stages_;
};

// Equal pieces (MeshShards::piece), or whole variables: of all devices, or of those of the unit's
// stage. Those of a device in a unit are one range, and so are those of a process, whose devices
// are neighbors.
class UnitParts {
 public:
  using Range = BlockUnits::Range;
  // Where what a device owns in a unit ends; it begins where that of the one before ends.
  struct Owner {
    std::int64_t device = 0;
    std::int64_t end = 0;
  };
  // Of each unit those that own some of it, in the order of devices.
  using Owners = std::vector<std::vector<Owner>>;

  // Equal pieces.
  UnitParts(BlockUnits units, const MeshShards& shards)
      : units_(std::move(units)), shards_(shards) {}
  // Whole variables.
  UnitParts(BlockUnits units, const MeshShards& shards, Owners owners)
      : units_(std::move(units)), shards_(shards), owners_(std::move(owners)) {}

  const BlockUnits& units() const { return units_; }
  bool has_whole_variables() const { return !owners_.empty(); }
  // Where devices own whole variables: that of the variable with this element.
  std::int64_t owner_of(std::int64_t element) const;
  // Elements of the block.
  Range of_device(std::size_t unit, std::int64_t device) const;
  Range of_rank(std::size_t unit, std::int64_t rank) const;
  Range own(std::size_t unit) const { return of_rank(unit, shards_.own_rank()); }
  // Whether this process computes with the unit: it is of one of its stages, or of all.
  bool is_used(std::size_t unit) const {
    return !units_.is_of_stage(unit) || shards_.has_stage(units_.stage(unit));
  }
  // Of each rank, as elements of the unit: what MeshShards exchanges.
  std::vector<Range> in_unit(std::size_t unit) const;

 private:
  BlockUnits units_;
  MeshShards shards_;
  Owners owners_;
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
