// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/shampoo.h"

#include <algorithm>
#include <cmath>

#include "optim/parts/moments.h"
#include "optim/shampoo/inverse_root.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::optim {
namespace {

// Where the slots are in a segment.
constexpr std::size_t kMeanSlot = 0, kStatisticsSlot = 1, kPreconditionersSlot = 2,
                      kSquaresSlot = 3;

// As in Praxis; a gradient of zeros divided by its norm is a gradient of zeros.
constexpr float kNormEpsilon = 1e-16F;

Tensor norm(const Tensor& x) {
  Tensor square = Tensor::empty(x.device(), {1});
  sum_of_squares(square, x);
  return ops::sqrt(square);
}

Tensor of_norm_one(const Tensor& x) {
  return ops::div(x, ops::add(norm(x), kNormEpsilon));
}

// Shares the memory of the slot.
Tensor matrix_in(const Tensor& slot, const Block& block, std::size_t axis) {
  const std::int64_t extent = block.extent(axis), begin = block.offsets[axis];
  return ops::reshape(ops::slice(slot, 0, begin, begin + extent * extent), {extent, extent});
}

Tensor cut_out(const Tensor& x, const Block& block) {
  Tensor part = x;
  for (std::size_t axis = 0; axis < block.begin.size(); ++axis) {
    part = ops::slice(part, static_cast<int>(axis), block.begin[axis], block.end[axis]);
  }
  return ops::contiguous(part);
}

// A block as a matrix whose rows are an axis of it, and back.
struct Unfolded {
  Unfolded(const Tensor& x, std::size_t axis) : shape(x.shape()) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(shape.rank()); ++i) {
      (i < axis ? left : right) *= i == axis ? 1 : shape[static_cast<int>(i)];
    }
    rows = shape[static_cast<int>(axis)];
    matrix = ops::reshape(
        ops::contiguous(ops::transpose(ops::reshape(x, {left, rows, right}), {1, 0, 2})),
        {rows, left * right});
  }
  Tensor fold(const Tensor& product) const {
    return ops::reshape(
        ops::contiguous(ops::transpose(ops::reshape(product, {rows, left, right}), {1, 0, 2})),
        shape);
  }

  Shape shape;
  std::int64_t left = 1, rows = 1, right = 1;
  Tensor matrix;
};

// Puts the parts of blocks_of together along `axis` and those after it. Takes them from `next` on.
Tensor joined(const std::vector<Tensor>& parts, const std::vector<Block>& blocks,
              const Shape& shape, int axis, std::size_t& next) {
  if (axis == shape.rank()) return parts[next++];
  const auto at = static_cast<std::size_t>(axis);
  std::vector<Tensor> along;
  bool is_last = false;
  while (!is_last) {
    is_last = blocks[next].end[at] == shape[axis];
    along.push_back(joined(parts, blocks, shape, axis + 1, next));
  }
  return along.size() == 1 ? along[0] : ops::concat(along, axis);
}

}  // namespace

void ShampooConfig::validate(Diagnostics& diagnostics) const {
  DecayConfig::validate(diagnostics);
  expect_below_one(diagnostics, "beta1", beta1);
  if (beta2 < 1) expect_below_one(diagnostics, "beta2", beta2);
  const bool is_rms = graft_type == Graft::rmsprop || graft_type == Graft::rmsprop_normalized;
  if (clip_by_scaled_gradient_norm > 0 && !is_rms) {
    diagnostics.add("clip_by_scaled_gradient_norm",
                    "has no effect unless graft_type is \"rmsprop\" or \"rmsprop_normalized\"",
                    "remove it, or set another graft_type");
  }
}

bool Shampoo::keeps_squares() const {
  return config_.graft_type != Graft::sgd && config_.graft_type != Graft::sqrt_n;
}

std::vector<std::string> Shampoo::slots() const {
  std::vector<std::string> names{"m", "statistics", "preconditioners"};
  if (keeps_squares()) names.emplace_back("v");
  return names;
}

std::optional<Shampoo::Cut> Shampoo::cut_of(const Shape& shape) const {
  if (shape.rank() < config_.skip_preconditioning_rank_lt) return {};
  const Shape merged = merged_axes(shape, config_.merge_small_dims_block_size);
  for (int axis = 0; axis < merged.rank(); ++axis) {
    if (merged[axis] > config_.skip_preconditioning_dim_size_gt) return {};
  }
  return Cut{merged, blocks_of(merged, config_.block_size)};
}

Shape Shampoo::slot_shape(std::string_view slot, const Parameter& parameter) const {
  if (slot == "m" || slot == "v") return parameter.shape();
  const std::optional<Cut> cut = cut_of(parameter.shape());
  return {cut ? matrix_elements(cut->blocks) : 0};
}

Tensor Shampoo::grafted(const Tensor& g, OptimizerSegment& segment) const {
  if (config_.graft_type == Graft::sgd) return g;
  if (config_.graft_type == Graft::sqrt_n) return sign(g);
  const bool is_normalized = config_.graft_type == Graft::rmsprop_normalized ||
                             config_.graft_type == Graft::adagrad_normalized;
  const bool is_sum =
      config_.graft_type == Graft::adagrad || config_.graft_type == Graft::adagrad_normalized;
  const Tensor direction = is_normalized ? of_norm_one(g) : g;
  const Tensor squares = ops::square(direction);
  Tensor& v = segment.slots[kSquaresSlot];
  assign(v, is_sum || config_.beta2 == 1 ? ops::add(v, squares)
                                         : moving_mean(v, squares, config_.beta2));
  Tensor change =
      ops::div(direction, ops::add(ops::sqrt(v), static_cast<float>(config_.diagonal_epsilon)));
  if (config_.clip_by_scaled_gradient_norm > 0) {
    change = ops::div(change, clip_divisor(change, config_.clip_by_scaled_gradient_norm));
  }
  return change;
}

void Shampoo::compute_roots(const Cut& cut, OptimizerSegment& segment) const {
  for (const Block& block : cut.blocks) {
    for (std::size_t axis = 0; axis < block.begin.size(); ++axis) {
      const std::vector<float> statistics =
          matrix_in(segment.slots[kStatisticsSlot], block, axis).to_host<float>();
      const auto twice_axes = 2 * static_cast<std::int64_t>(block.begin.size());
      const std::int64_t order =
          config_.exponent_override > 0 ? config_.exponent_override : twice_axes;
      Tensor preconditioner = matrix_in(segment.slots[kPreconditionersSlot], block, axis);
      Tensor root = Tensor::host(preconditioner.shape());
      const InverseRoot options{static_cast<double>(order), config_.matrix_epsilon,
                                config_.relative_matrix_epsilon};
      if (inverse_root(statistics, block.extent(axis), options, root.mutable_span<float>())) {
        assign(preconditioner, root.to(preconditioner.device()));
      }
    }
  }
}

Tensor Shampoo::preconditioned(const OptimizerStep& step, const Cut& cut, const Tensor& g,
                               OptimizerSegment& segment) const {
  const Tensor gradient = ops::reshape(g, cut.shape);
  std::vector<Tensor> parts;
  for (const Block& block : cut.blocks) parts.push_back(cut_out(gradient, block));
  if (step.step % config_.statistics_compute_steps == 0) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      for (std::size_t axis = 0; axis < cut.blocks[i].begin.size(); ++axis) {
        const Tensor rows = Unfolded(parts[i], axis).matrix;
        const Tensor product = ops::matmul(rows, rows, {.transpose_b = true});
        Tensor statistics = matrix_in(segment.slots[kStatisticsSlot], cut.blocks[i], axis);
        assign(statistics, config_.beta2 == 1 ? ops::add(statistics, product)
                                              : moving_mean(statistics, product, config_.beta2));
      }
    }
  }
  if (step.step < config_.start_preconditioning_step) return {};
  // The first ones may be due before the interval is over: at the start, or after a load without
  // slots. Diagonals of a preconditioner are above 0.
  const bool has_none =
      ops::slice(segment.slots[kPreconditionersSlot], 0, 0, 1).to_host<float>()[0] == 0;
  if (has_none || step.step % config_.preconditioning_compute_steps == 0) {
    compute_roots(cut, segment);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t axis = 0; axis < cut.blocks[i].begin.size(); ++axis) {
      const Unfolded part(parts[i], axis);
      parts[i] = part.fold(ops::matmul(
          matrix_in(segment.slots[kPreconditionersSlot], cut.blocks[i], axis), part.matrix));
    }
  }
  std::size_t next = 0;
  return ops::reshape(joined(parts, cut.blocks, cut.shape, 0, next), {g.size()});
}

void Shampoo::update(const OptimizerStep& step, std::span<OptimizerSegment> segments) {
  for (OptimizerSegment& segment : segments) update(step, segment);
}

void Shampoo::update(const OptimizerStep& step, OptimizerSegment& segment) const {
  const Tensor g = scaled(segment.gradient, step.gradient_scale);
  Tensor change = grafted(g, segment);
  if (const std::optional<Cut> cut = cut_of(segment.parameter->shape())) {
    const Tensor direction = preconditioned(step, *cut, g, segment);
    if (direction.defined()) {
      change = ops::mul(direction, ops::div(norm(change), ops::add(norm(direction), kNormEpsilon)));
    }
  }
  if (config_.moving_average_for_momentum) change = scaled(change, 1 - config_.beta1);
  const Tensor m = ops::add(scaled(segment.slots[kMeanSlot], config_.beta1), change);
  assign(segment.slots[kMeanSlot], m);
  Tensor total = config_.nesterov ? ops::add(scaled(m, config_.beta1), change) : m;
  if (config_.weight_decay > 0 && segment.group == DecayFilter::kDecays) {
    total = ops::add(total, scaled(segment.value, config_.weight_decay));
  }
  assign(segment.value, ops::sub(segment.value, scaled(total, step.learning_rate)));
}

}  // namespace trivet::optim
