// SPDX-License-Identifier: Apache-2.0
// Ops for work that is split over the devices along an axis of a mesh (trivet/tensor/mesh_axis.h).
// A split tensor is a list of blocks, one for each device, which are those of this process in
// order. All are differentiable, and all sums, those of gradients too, are made by
// MeshAxis::tree(). Over one device each of them gives back what it gets.
//
// Where several processes share the axis, whole tensors are equal in all of them: x of fan_out and
// split_blocks and their gradients, the results of sum_blocks, gather_blocks and
// linear_cross_entropy and theirs. All processes make the same calls, in the backward pass too.
// Throws RunError where another process is gone.
//
// Two products whose inner dimension is split, with one sum in each direction (Shoeybi et al. 2019,
// Megatron-LM).
//
// Example (sdk/examples/snippets/layer.cpp#blocks):
//
//   const std::vector<Tensor> w1 = ops::split_blocks(up, 1, axis);    // columns
//   const std::vector<Tensor> w2 = ops::split_blocks(down, 0, axis);  // rows
//   std::vector<Tensor> y = ops::fan_out(x, axis);
//   for (std::size_t i = 0; i < y.size(); ++i) {
//     y[i] = ops::linear(ops::linear(y[i], w1[i], {}, Activation::gelu), w2[i]);
//   }
//   return ops::sum_blocks(y, axis);
#pragma once

#include <span>
#include <vector>

#include "trivet/ops.h"
#include "trivet/tensor/mesh_axis.h"

namespace trivet {
#pragma GCC visibility push(default)  // TRIVET_API for all of them
namespace ops {

// x for each block. The gradient of x is the sum of theirs.
std::vector<Tensor> fan_out(const Tensor& x, const MeshAxis& axis);

// The sum of equally shaped f32 blocks. The gradient goes to each of them.
Tensor sum_blocks(std::span<const Tensor> blocks, const MeshAxis& axis);

// The whole of what is split along `dim`. Copies.
Tensor gather_blocks(std::span<const Tensor> blocks, int dim, const MeshAxis& axis);

// The blocks along `dim`, whose extent must be a multiple of the axis'. They share memory with x.
// The gradient of x has those of the blocks of all processes.
std::vector<Tensor> split_blocks(const Tensor& x, int dim, const MeshAxis& axis);

// linear_cross_entropy (trivet/ops.h) with a block of the classes on each device: block b of n
// classes has [b n, (b + 1) n), and its weights are w[b], [in, n], or [n, in] with transpose_w.
// Each block computes its logits, their largest m and s = sum(exp(logits - m)); the pairs (m, s)
// are merged by the tree of the axis. The gradient of h is the sum of the blocks'. Memory as for
// the whole: of all blocks together, the logits of a chunk of rows exist at a time.
LinearCrossEntropy linear_cross_entropy(const Tensor& h, std::span<const Tensor> w,
                                        const Tensor& targets, const Tensor& row_weight,
                                        const LinearCrossEntropyOptions& options,
                                        const MeshAxis& axis);

}  // namespace ops
#pragma GCC visibility pop
}  // namespace trivet
