// SPDX-License-Identifier: Apache-2.0
// Blocks of positions: over n devices along the axis seq of a mesh, each computes T / n of the
// positions of [B, T, ..], for the gradients of one loss. Of 2 n equal stripes of the sequence,
// block i has stripes i and 2 n - 1 - i: in causal attention a later position sees more, and so all
// blocks see equally much (Grattafiori et al. 2024, Llama 3, section 3.3.2). Where 2 n does not
// divide T, block i has [i T / n, (i + 1) T / n).
//
// Layers that are local in time (trivet/layer/extend_step.h) compute one block after another and
// know nothing of it: of each block they find in their context what belongs to its positions, and
// random numbers of its own. A layer that combines positions is a SequenceBlocks, which gets all
// blocks of this process at once and exchanges with the others what it needs of theirs
// (trivet/ops/ops_mesh.h), or computes the whole (fprop_whole). Other layers have no blocks, and no
// layer with a state has.
//
// The gradient of a weight is the sum of the blocks', in the order of MeshAxis::tree(), so that
// bits do not depend on the processes.
//
// Example (sdk/examples/snippets/layer.cpp#sequence):
//
//   SequenceCut cut(context, x, axis);
//   std::vector<Tensor> blocks = cut.blocks_of(x);
//   for (const auto& layer : layers) blocks = fprop_blocks(*layer, blocks, cut);
//   return cut.whole_of(blocks);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/layer.h"
#include "trivet/ops/remat_keeps.h"
#include "trivet/tensor.h"
#include "trivet/tensor/mesh_axis.h"

namespace trivet {

// How the positions of a sequence are cut, and what the context has for each block of this process.
class TRIVET_API SequenceCut {
 public:
  // Of x [B, T, ..] in this context. Throws ConfigError at the mesh where the devices along the
  // axis do not divide T.
  SequenceCut(const FpropContext& context, const Tensor& x, const MeshAxis& axis);

  const MeshAxis& axis() const { return axis_; }
  // Blocks of this process.
  std::size_t count() const { return contexts_.size(); }
  // Neighboring positions: where they are in the sequence.
  struct Run {
    std::int64_t first = 0, count = 0;
    bool operator==(const Run&) const = default;
  };
  // Those of block i of this process, in their order there: one or two.
  std::span<const Run> runs(std::size_t i) const;
  // That of all positions. It starts without losses; a layer that has one of all positions adds it
  // here, once for all blocks.
  const FpropContext& whole() const { return whole_; }
  FpropContext& whole() { return whole_; }
  // That of block i: with its part of what has a value for each position, `positions` in any case,
  // and a key of its own.
  FpropContext& context(std::size_t i) { return contexts_[i]; }

  // x [B, T, ..] as blocks [B, T / n, ..], and back. All processes of the axis have the same x.
  // Blocks are contiguous.
  std::vector<Tensor> blocks_of(const Tensor& x) const;
  Tensor whole_of(std::span<const Tensor> blocks) const;

  // Calls `compute` for each block in turn. In it, the value of a parameter is that for the block:
  // parameters get the sum of the blocks' gradients. Throws ConfigError at the mesh for a loss that
  // is added to the context, and Error where a block computes parts again (remat) or assigns a
  // state. [run-thread]
  using Compute = std::function<void(std::size_t i, FpropContext& context)>;
  void for_each(const Compute& compute);

 private:
  friend TRIVET_API std::vector<Tensor> remat_blocks(Layer&, std::span<const Tensor>, SequenceCut&,
                                                     const RematKeeps&);
  void set_pass(bool is_again, const Tensor& cross_inputs);

  MeshAxis axis_;
  std::vector<std::vector<Run>> runs_;  // of all blocks
  FpropContext whole_;
  std::vector<FpropContext> contexts_;
};

// The second interface of a layer that combines positions.
class SequenceBlocks {
 public:
  // fprop of the whole, of the blocks of this process: x[i] [B, T / n, ..] and likewise the result.
  // It computes by SequenceCut::for_each what has parameters. [run-thread]
  virtual std::vector<Tensor> fprop_blocks(std::span<const Tensor> x, SequenceCut& cut) = 0;

 protected:
  ~SequenceBlocks() = default;
};

// Id for Layer::extension; what it returns points to a SequenceBlocks. Null where the layer, as it
// is configured, cannot.
inline constexpr std::string_view kLayerSequenceBlocks = "trivet.layer.sequence_blocks/1";

// Whether a layer is a SequenceBlocks or local in time.
TRIVET_API bool can_compute_blocks(const Layer& layer);

// The blocks of layer.fprop, for a layer that can.
TRIVET_API std::vector<Tensor> fprop_blocks(Layer& layer, std::span<const Tensor> x,
                                            SequenceCut& cut);
// The blocks of layer.fprop of all positions, which each process computes: the fprop_blocks of a
// layer that needs them at once, and has what it adds to the context in cut.whole().
TRIVET_API std::vector<Tensor> fprop_whole(Layer& layer, std::span<const Tensor> x,
                                           SequenceCut& cut);
// fprop_blocks, computed again for the gradients (trivet/layer/remat.h), which flow to x and to the
// context's cross_inputs.
TRIVET_API std::vector<Tensor> remat_blocks(Layer& layer, std::span<const Tensor> x,
                                            SequenceCut& cut, const RematKeeps& keeps);

// For constructors: throws ConfigError at the mesh, naming the layer by its path, where the scope
// is one of sequence blocks on a mesh with devices along seq and the layer cannot compute them. A
// null layer can.
TRIVET_API void expect_sequence_blocks(const Scope& scope, const Layer* layer,
                                       std::string_view path);

}  // namespace trivet
