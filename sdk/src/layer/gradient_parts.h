// SPDX-License-Identifier: Apache-2.0
// GradientParts: the gradients of weights of which each process has parts (WeightParts). A unit has
// memory from the first gradient of one of its variables until they are complete; then each process
// gets the sum of all shards for its part, while the pass computes those of other units. So no
// process has all gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layer/block_units.h"
#include "layer/weight_parts.h"
#include "trivet/tape.h"
#include "trivet/tensor.h"
#include "trivet/tensor/device.h"
#include "trivet/tensor/mesh_shards.h"

namespace trivet {

class Transfer;  // trivet/backend/process_group.h

namespace detail {

class GradientParts {
 public:
  // A variable of the block: where it is, and its slot.
  struct Variable {
    std::string path;
    std::int64_t offset = 0;
    Shape shape;
    GradientSlot* slot = nullptr;
    RowLeaves* rows = nullptr;  // it is a unit, whose rows may be computed with apart (RowShare)
  };
  // Zeros. Each process has one shard. Variables are in the order of the block.
  GradientParts(Device& device, const MeshShards& shards, const OwnParts& parts,
                std::vector<Variable> variables);
  ~GradientParts();
  GradientParts(const GradientParts&) = delete;
  GradientParts& operator=(const GradientParts&) = delete;

  // Before a pass: no gradient is there.
  void begin();
  // Before a pass of a tape with these groups, whose gradients are summed once they are complete,
  // each process's times `factor`. Without this call they remain until finish().
  void begin(float factor, const std::vector<SlotGroup*>& groups);
  // Sums what is not summed yet. Throws Error for another factor than that of begin().
  void finish(float factor);

  // This process's part of the sums, flat.
  const Tensor& own() const { return own_; }

 private:
  class Unit;
  enum class Way { whole, by_rows };
  // A unit whose gradients are of its rows has those of all shards, and exchanges nothing.
  struct Turn {
    std::uint32_t unit = 0;
    Way way = Way::whole;
  };
  void sum_complete(float factor);
  // The first process of a stage tells the others in which order it expects gradients. All of them
  // sum in this order, whichever has a gradient.
  void agree_on_order(std::vector<Turn> expected);
  Unit& next() const;
  void sum_next(float factor);
  void start_sum(const Tensor& gradients, std::span<const MeshShards::Range> parts, Tensor& own);
  // Waits until so many sums are left under way.
  void end_sums(std::int64_t left);
  std::span<const float> factors_of_all(float factor);

  Device& device_;
  const MeshShards shards_;
  const OwnParts parts_;
  Tensor own_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::optional<float> factor_;
  std::vector<float> factors_;  // of all shards, once a unit needs them
  std::vector<Turn> order_;     // of the units that this process computes with
  bool is_agreed_ = false;      // else they are in the order of the block
  std::size_t summed_ = 0;      // the first so many of them, or their sums are under way
  std::deque<std::unique_ptr<Transfer>> under_way_;
};

}  // namespace detail
}  // namespace trivet
