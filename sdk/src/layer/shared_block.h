// SPDX-License-Identifier: Apache-2.0
// SharedBlock: the block of the trainable variables, of which each process of an update owns a part
// of each unit (UnitParts). Where the processes share it, each of them updates its parts
// alone, and has slots and averages of these alone.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "layer/block_units.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/tensor/mesh_shards.h"
#include "trivet/tensor/tensor_part.h"

namespace trivet::detail {

// A tensor for a variable, element by element or with the whole variable, or one that every process
// has whole.
struct SharedTensor {
  std::string name;
  Shape shape;  // whole
  Tensor part;  // of this process, flat
  const Parameter* variable = nullptr;
};

class SharedBlock {
 public:
  using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
  enum class Kind { shared, whole };
  SharedBlock(ParameterStore& store, const MeshShards& shards, Kind kind);

  bool is_shared() const { return is_shared_; }
  const MeshShards& shards() const { return shards_; }
  // Which elements of a unit a device owns, also where processes do not share it.
  const UnitParts& unit_parts() const { return parts_.all(); }
  const BlockUnits& units() const { return parts_.units(); }
  // What this process updates, one part after another: all, unless it is shared.
  const OwnParts& parts() const { return parts_; }
  // The elements of the variable that it updates.
  OwnParts::Overlap own_part_of(const Parameter& variable) const;
  // parts() of the weights and of the gradients.
  const Tensor& values() const { return values_; }
  const Tensor& gradients() const { return gradients_; }

  // From the sums of the gradients of this process's shards, as long as the block, gradients() get
  // those of all. Gradients in parts are summed elsewhere (GradientParts). [run-thread]
  void sum_gradients(Tensor& own) const;
  // After a change of values(): the other processes get them. [run-thread]
  void share_values() const;

  // The tensors, whole. Those of shared variables are copies on the host; all processes make this
  // call. [run-thread]
  NamedTensors whole(const std::vector<SharedTensor>& tensors) const;
  // This process's parts of them. [run-thread]
  std::vector<TensorPart> parts_of(const std::vector<SharedTensor>& tensors) const;

 private:
  bool is_shared(const SharedTensor& tensor) const;
  Tensor gathered(const SharedTensor& tensor) const;
  // Those of a whole tensor that a process has.
  MeshShards::Range elements_of(const SharedTensor& tensor, std::int64_t rank) const;
  MeshShards::Range range_of(const Parameter& variable) const;

  ParameterStore& store_;
  MeshShards shards_;
  bool is_shared_;
  OwnParts parts_;
  Tensor values_, gradients_;
};

}  // namespace trivet::detail
