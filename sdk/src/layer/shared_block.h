// SPDX-License-Identifier: Apache-2.0
// SharedBlock: the block of the trainable variables, of which each process of an update owns a part
// (MeshShards::own_part). Where the processes share it, each of them updates its part alone, and
// has slots and averages of this part alone.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trivet/layer/parameter_store.h"
#include "trivet/tensor/mesh_shards.h"

namespace trivet::detail {

// A tensor for a variable, element by element, or one that every process has whole.
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
  std::int64_t size() const { return size_; }
  // What this process updates: all, unless it is shared.
  MeshShards::Range own() const;
  // The elements of the block that are the variable's and own().
  MeshShards::Range own_part_of(const Parameter& variable) const;
  // own() of the weights and of the gradients.
  Tensor values() const;
  Tensor gradients() const;

  // The tensors, whole. Those of shared variables are copies on the host, which a process gets that
  // `wants` them; all processes make this call. [run-thread]
  NamedTensors whole(const std::vector<SharedTensor>& tensors, bool wants) const;
  // The tensors, whole: themselves, or copies in which this process's part has its values.
  // [run-thread]
  NamedTensors to_fill(const std::vector<SharedTensor>& tensors) const;
  // Keeps this process's part of `filled`, which is from to_fill() for these tensors. [run-thread]
  void take(const std::vector<SharedTensor>& tensors, const NamedTensors& filled) const;

 private:
  MeshShards::Range overlap(const Parameter& variable, const MeshShards::Range& part) const;
  bool is_shared(const SharedTensor& tensor) const;
  Tensor gathered(const SharedTensor& tensor, const std::vector<std::uint8_t>& wants) const;
  // This process's elements of a whole tensor, flat.
  Tensor own_elements(const SharedTensor& tensor, const Tensor& whole) const;

  ParameterStore& store_;
  MeshShards shards_;
  bool is_shared_;
  std::int64_t size_;
};

}  // namespace trivet::detail
