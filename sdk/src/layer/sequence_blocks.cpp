// SPDX-License-Identifier: Apache-2.0
#include "trivet/layer/sequence_blocks.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "layer/block_weights.h"
#include "ops/op_support.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/error.h"
#include "trivet/layer/extend_step.h"
#include "trivet/layer/remat.h"
#include "trivet/ops.h"
#include "trivet/ops/ops_mesh.h"
#include "trivet/tensor/mesh.h"

namespace trivet {
namespace detail {
namespace {

thread_local BlockWeights* current_weights = nullptr;

}  // namespace

BlockWeights::BlockWeights(const MeshAxis& axis)
    : axis_(axis), tape_(Tape::current()), outer_(std::exchange(current_weights, this)) {}

BlockWeights::~BlockWeights() {
  current_weights = outer_;
}

BlockWeights* BlockWeights::current() {
  return current_weights;
}

const Tensor& BlockWeights::of(const Parameter& parameter, const Tensor& value) {
  if (!value.requires_grad()) return value;
  if (Tape::current() != tape_) {
    throw Error("'" + parameter.path() +
                    "' is read in a block of positions by what is computed again for its gradients",
                {.hint = "layers in blocks keep their activations; set the checkpoint_policy of "
                         "the stack around them instead"});
  }
  std::vector<Tensor>& values = values_[&parameter];
  if (values.empty()) values = ops::fan_out(value, axis_);
  return values[block_];
}

}  // namespace detail

namespace {

[[noreturn]] void refuse_blocks(std::string what, std::string hint) {
  throw ConfigError(Diagnostic{.path = "mesh", .what = std::move(what), .hint = std::move(hint)});
}

SequenceBlocks* sequence_blocks_of(const Layer& layer) {
  // The extension is the layer itself, which is const here for its `extension` only.
  return const_cast<SequenceBlocks*>(
      static_cast<const SequenceBlocks*>(layer.extension(kLayerSequenceBlocks)));
}

using Run = SequenceCut::Run;

// The positions of all blocks.
std::vector<std::vector<Run>> runs_of(std::int64_t length, std::int64_t blocks) {
  std::vector<std::vector<Run>> all;
  const bool is_striped = length % (2 * blocks) == 0;
  const std::int64_t stripe = length / (2 * blocks);
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t last = 2 * blocks - 1 - i;
    if (!is_striped) {
      all.push_back({{i * (length / blocks), length / blocks}});
    } else if (last == i + 1) {  // neighbors
      all.push_back({{i * stripe, 2 * stripe}});
    } else {
      all.push_back({{i * stripe, stripe}, {last * stripe, stripe}});
    }
  }
  return all;
}

Tensor at_runs(const Tensor& x, std::span<const Run> runs) {
  std::vector<Tensor> parts;
  for (const Run& run : runs) parts.push_back(ops::slice(x, 1, run.first, run.first + run.count));
  return parts.size() == 1 ? ops::contiguous(parts.front()) : ops::concat(parts, 1);
}

Tensor positions_at(Device& device, std::int64_t batch, std::span<const Run> runs) {
  std::vector<std::int32_t> positions;
  for (std::int64_t row = 0; row < batch; ++row) {
    for (const Run& run : runs) {
      for (std::int64_t i = 0; i < run.count; ++i) {
        positions.push_back(static_cast<std::int32_t>(run.first + i));
      }
    }
  }
  const std::int64_t count = std::ssize(positions) / std::max<std::int64_t>(batch, 1);
  return Tensor::from<std::int32_t>(device, positions, {batch, count});
}

// Blocks one below the other, so that each is contiguous, and back.
Tensor blocks_below(std::span<const Tensor> blocks) {
  return blocks.size() == 1 ? blocks.front() : ops::concat(blocks, 0);
}

std::vector<Tensor> blocks_apart(const Tensor& x, std::size_t count) {
  if (count == 1) return {x};
  return ops::split(x, 0, static_cast<int>(count));
}

}  // namespace

SequenceCut::SequenceCut(const FpropContext& context, const Tensor& x, const MeshAxis& axis)
    : axis_(axis), whole_(context) {
  const std::int64_t length = x.rank() > 1 ? x.dim(1) : 0;
  if (length == 0 || length % axis.extent() != 0) {
    refuse_blocks("has " + std::to_string(axis.extent()) +
                      " devices along seq, which do not divide the " + std::to_string(length) +
                      " positions of a sequence",
                  "change the length of the sequences of the input, or mesh.ici_mesh_shape");
  }
  runs_ = runs_of(length, axis.extent());
  whole_.aux_losses = {};
  whole_.summaries = {};
  const NoGrad no_grad;
  const RngKey key = whole_.key.fold("seq");
  for (std::int64_t i = 0; i < axis.count(); ++i) {
    FpropContext& own = contexts_.emplace_back(whole_);
    own.key = key.fold(static_cast<std::uint64_t>(axis.first() + i));
    const std::span<const Run> at = runs(static_cast<std::size_t>(i));
    for (Tensor* each :
         {&own.positions, &own.segment_ids, &own.paddings, &own.inputs_indicator, &own.task_ids}) {
      const bool is_cut = each->defined() && each->rank() > 1 && each->dim(1) == length;
      if (is_cut) *each = at_runs(*each, at);
    }
    if (!own.positions.defined()) own.positions = positions_at(x.device(), x.dim(0), at);
  }
}

std::span<const SequenceCut::Run> SequenceCut::runs(std::size_t i) const {
  return runs_[static_cast<std::size_t>(axis_.first()) + i];
}

std::vector<Tensor> SequenceCut::blocks_of(const Tensor& x) const {
  std::vector<Run> in_turn;
  for (const std::vector<Run>& block : runs_) {
    in_turn.insert(in_turn.end(), block.begin(), block.end());
  }
  std::vector<Tensor> blocks = ops::split_blocks(at_runs(x, in_turn), 1, axis_);
  for (Tensor& block : blocks) block = ops::contiguous(block);
  return blocks;
}

Tensor SequenceCut::whole_of(std::span<const Tensor> blocks) const {
  // From the positions in the sequence to those in the blocks.
  std::map<std::int64_t, Run> found;
  std::int64_t begin = 0;
  for (const std::vector<Run>& block : runs_) {
    for (const Run& run : block) {
      found[run.first] = {begin, run.count};
      begin += run.count;
    }
  }
  std::vector<Run> in_order;
  for (const auto& [first, run] : found) in_order.push_back(run);
  return at_runs(ops::gather_blocks(blocks, 1, axis_), in_order);
}

void SequenceCut::for_each(const Compute& compute) {
  detail::BlockWeights weights(axis_);
  for (std::size_t i = 0; i < contexts_.size(); ++i) {
    weights.set_block(i);
    FpropContext& own = contexts_[i];
    compute(i, own);
    own.summaries = {};
    if (own.aux_losses.empty()) continue;
    refuse_blocks("has devices along seq, and the loss '" + own.aux_losses.begin()->first +
                      "' of a layer is that of a block of positions alone",
                  "use a mesh without seq");
  }
}

void SequenceCut::set_pass(bool is_again, const Tensor& cross_inputs) {
  const auto set = [&](FpropContext& context) {
    context.recomputing = context.recomputing || is_again;
    context.cross_inputs = cross_inputs;
  };
  set(whole_);
  for (FpropContext& own : contexts_) set(own);
}

bool can_compute_blocks(const Layer& layer) {
  return sequence_blocks_of(layer) != nullptr || layer.extension(kLayerLocalInTime) != nullptr;
}

std::vector<Tensor> fprop_blocks(Layer& layer, std::span<const Tensor> x, SequenceCut& cut) {
  if (SequenceBlocks* blocks = sequence_blocks_of(layer)) return blocks->fprop_blocks(x, cut);
  std::vector<Tensor> y(x.size());
  cut.for_each([&](std::size_t i, FpropContext& own) { y[i] = layer.fprop(x[i], own); });
  return y;
}

std::vector<Tensor> fprop_whole(Layer& layer, std::span<const Tensor> x, SequenceCut& cut) {
  return cut.blocks_of(layer.fprop(cut.whole_of(x), cut.whole()));
}

std::vector<Tensor> remat_blocks(Layer& layer, std::span<const Tensor> x, SequenceCut& cut,
                                 const RematKeeps& keeps) {
  if (Tape::current() == nullptr) return fprop_blocks(layer, x, cut);
  SequenceCut later = cut;
  later.whole().aux_losses = {};
  const auto fn = [&layer, later](std::span<const Tensor> inputs, RematPass pass,
                                  NestedMap& losses) {
    SequenceCut own = later;
    own.set_pass(pass == RematPass::backward, inputs.size() > 1 ? inputs[1] : Tensor());
    const std::vector<Tensor> blocks = blocks_apart(inputs.front(), own.count());
    Tensor below = blocks_below(fprop_blocks(layer, blocks, own));
    losses = std::move(own.whole().aux_losses);
    return below;
  };
  std::vector<Tensor> inputs{blocks_below(x)};
  if (cut.whole().cross_inputs.defined()) inputs.push_back(cut.whole().cross_inputs);
  const Tensor below = remat(fn, inputs, cut.whole().aux_losses, keeps);
  return blocks_apart(below, cut.count());
}

void expect_sequence_blocks(const Scope& scope, const Layer* layer, std::string_view path) {
  const MeshAxis& axis = scope.mesh().axis(MeshLayout::kSequenceAxis);
  if (layer == nullptr || !scope.is_in_sequence_blocks() || !axis.is_split()) return;
  if (can_compute_blocks(*layer)) return;
  refuse_blocks("has " + std::to_string(axis.extent()) + " devices along seq, and '" +
                    std::string(path) + "' cannot compute a part of the positions",
                "use a mesh without seq, or a layer that is local in time or attends "
                "(trivet/layer/sequence_blocks.h)");
}

}  // namespace trivet
