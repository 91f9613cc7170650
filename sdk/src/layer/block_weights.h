// SPDX-License-Identifier: Apache-2.0
// BlockWeights: the values of parameters while blocks of positions are computed
// (trivet/layer/sequence_blocks.h). Each block has one of its own, so that gradients of the blocks
// meet in the order of the mesh.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "trivet/tensor.h"
#include "trivet/tensor/mesh_axis.h"

namespace trivet {

class Parameter;
class Tape;

namespace detail {

class BlockWeights {
 public:
  // From here on blocks over the axis are computed on this thread.
  explicit BlockWeights(const MeshAxis& axis);
  ~BlockWeights();
  BlockWeights(const BlockWeights&) = delete;
  BlockWeights& operator=(const BlockWeights&) = delete;

  void set_block(std::size_t block) { block_ = block; }
  // That of the block, of a parameter with this value. Throws Error on another tape than that of
  // the start.
  const Tensor& of(const Parameter& parameter, const Tensor& value);

  // Null outside of blocks.
  static BlockWeights* current();

 private:
  const MeshAxis& axis_;
  const Tape* const tape_;
  BlockWeights* const outer_;
  std::size_t block_ = 0;
  std::map<const Parameter*, std::vector<Tensor>> values_;  // of all blocks of this process
};

}  // namespace detail
}  // namespace trivet
