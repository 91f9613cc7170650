// SPDX-License-Identifier: Apache-2.0
// BlockUnits: a flat block of variables, cut into units: ranges that are shared by the processes of
// a mesh (MeshShards) one by one. No variable is in two units.
#pragma once

#include <cstddef>
#include <cstdint>
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
  // The part of a process in a unit.
  Range part(std::size_t unit, const MeshShards& shards, std::int64_t rank) const;

 private:
  std::int64_t begin_of(std::size_t unit) const { return unit == 0 ? 0 : ends_[unit - 1]; }

  std::vector<std::int64_t> ends_;
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

  explicit OwnParts(BlockUnits units) : OwnParts(std::move(units), nullptr) {}
  // shards null: it has all of them.
  OwnParts(BlockUnits units, const MeshShards* shards);

  const BlockUnits& units() const { return units_; }
  std::int64_t size() const { return size_; }
  const Overlap& part(std::size_t unit) const { return parts_[unit]; }
  // The part of the process in a range, which is in one unit.
  Overlap overlap(Range range) const;

 private:
  BlockUnits units_;
  std::vector<Overlap> parts_;
  std::int64_t size_ = 0;
};

}  // namespace trivet::detail
