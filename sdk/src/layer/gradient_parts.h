// SPDX-License-Identifier: Apache-2.0
// GradientParts: the gradients of weights of which each process has parts (WeightParts). A unit has
// memory from the first gradient of one of its variables until they are complete; then each process
// gets the sum of all shards for its part. So no process has all gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layer/block_units.h"
#include "trivet/tape.h"
#include "trivet/tensor.h"
#include "trivet/tensor/device.h"
#include "trivet/tensor/mesh_shards.h"

namespace trivet::detail {

class GradientParts {
 public:
  // A variable of the block: where it is, and its slot.
  struct Variable {
    std::string path;
    std::int64_t offset = 0;
    Shape shape;
    GradientSlot* slot = nullptr;
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
  void sum_complete(float factor);
  // The first process of a stage tells the others in which order it expects gradients. All of them
  // sum in this order, whichever has a gradient.
  void agree_on_order(std::vector<std::uint32_t> expected);
  Unit& next() const;

  Device& device_;
  const MeshShards shards_;
  const OwnParts parts_;
  Tensor own_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::optional<float> factor_;
  std::vector<std::uint32_t> order_;  // of the units that this process computes with
  bool is_agreed_ = false;            // else they are in the order of the block
  std::size_t summed_ = 0;            // the first so many of them
};

}  // namespace trivet::detail
