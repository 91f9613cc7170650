// SPDX-License-Identifier: Apache-2.0
// CanonicalSum: the sum of tensors that come one after another, in the order of a SumTree.
#pragma once

#include <optional>
#include <vector>

#include "trivet/backend/sum_tree.h"
#include "trivet/base/export.h"
#include "trivet/tensor.h"

namespace trivet {

class TRIVET_API CanonicalSum {
 public:
  // For values f32 of this shape. Takes the memory of one tensor for each level of the tree, and of
  // one more. Make it outside of a step of the device. [run-thread]
  CanonicalSum(Device& device, const Shape& shape, const SumTree& tree);

  const SumTree& tree() const { return tree_; }
  // Where to write the next value; what it holds before is undefined. It is valid until add().
  // Throws Error after the last value.
  Tensor& next();
  // Adds what next() holds.
  void add();
  // The sum, valid until restart(); it may be changed. Throws Error before the last value.
  Tensor& total();
  // Starts the next sum. Also in the middle of one.
  void restart();

 private:
  SumTree tree_;
  std::vector<Tensor> spare_;  // blocks that hold no sum
  TreeFold<Tensor> fold_;
  Tensor next_;
  std::optional<Tensor> total_;
  std::vector<Tensor> blocks_;  // all of them
};

}  // namespace trivet
