// SPDX-License-Identifier: Apache-2.0
// WeightParts: the trainable weights of a model on a mesh whose processes have parts of them (ZeRO
// stage 3, Rajbhandari et al. 2020). Each unit of the weights is whole where something reads it:
// the first that does so gathers the parts of all processes, and the memory is free again when
// others need it. So layers, ops and the tape know nothing of parts; what an op has saved for its
// gradient is gathered again when the gradient reads it.
//
// A gather is an exchange of all processes: all read the same units in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "layer/block_units.h"
#include "trivet/tensor.h"
#include "trivet/tensor/device.h"
#include "trivet/tensor/mesh_shards.h"

namespace trivet::detail {

class WeightParts {
 public:
  // Zeros. Shards of several processes.
  WeightParts(Device& device, const MeshShards& shards, std::shared_ptr<const UnitParts> parts);
  ~WeightParts();
  WeightParts(const WeightParts&) = delete;
  WeightParts& operator=(const WeightParts&) = delete;

  const OwnParts& parts() const { return parts_; }
  // The parts of this process, flat: after a change of it call changed(). [run-thread]
  const Tensor& own() const { return own_; }
  void changed();

  // A unit, flat, whose memory is there when it is read. [any-thread]
  const Tensor& whole(std::size_t unit) const { return units_[unit].value; }

  // Between them all units are whole. They may be nested. [run-thread]
  void hold();
  void release();

  // Of the units gathered so far, in their order: equal on all processes. [run-thread]
  std::uint64_t order() const { return order_; }

  // The most that whole units take at once, unless they are held.
  static std::int64_t most_elements(const BlockUnits& units);

 private:
  class Source;
  struct Unit {
    std::shared_ptr<Source> source;
    Tensor value;   // of the source
    Tensor memory;  // undefined: not whole now
    std::uint64_t read = 0;
  };
  void* need(std::size_t unit);
  void assign(std::size_t unit, std::uint64_t offset, std::span<const std::byte> values);
  void gather(Unit& unit, std::size_t index);
  void make_room(std::int64_t elements);

  Device& device_;
  const MeshShards shards_;
  const OwnParts parts_;
  const std::int64_t most_;
  Tensor own_;
  std::vector<Unit> units_;
  std::int64_t whole_ = 0;  // elements
  std::uint64_t reads_ = 0;
  std::uint64_t order_ = 0;
  int holds_ = 0;
};

}  // namespace trivet::detail
