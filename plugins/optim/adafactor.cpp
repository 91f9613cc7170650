// SPDX-License-Identifier: Apache-2.0
#include "adafactor.h"

#include <algorithm>
#include <cmath>

#include "optim/parts/moments.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::optim {
namespace {

enum Slot : std::size_t { kRow, kColumn, kSquare, kMomentum };

// Keeps the last two axes and merges those before into one.
Shape as_matrices(const Shape& shape) {
  const std::int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  return {shape.size() / (rows * columns), rows, columns};
}

Tensor flat(const Tensor& x) {
  return ops::reshape(x, {x.size()});
}

// Updates a slot and returns its new value in the shape of `x`.
Tensor moved(Tensor& slot, const Tensor& x, double decay) {
  assign(slot, moving_mean(slot, flat(x), decay));
  return ops::reshape(slot, x.shape());
}

}  // namespace

void AdafactorConfig::validate(Diagnostics& diagnostics) const {
  DecayConfig::validate(diagnostics);
  const AdafactorConfig usual;
  const bool is_pow = decay_method == AdafactorDecay::pow;
  if (is_pow ? beta2 == usual.beta2 : decay_exponent == usual.decay_exponent) return;
  diagnostics.add(
      is_pow ? "beta2" : "decay_exponent",
      std::string("has no effect with decay_method = \"") + (is_pow ? "pow" : "adam") + "\"",
      "remove it, or set the other decay_method");
}

double Adafactor::decay_of(double t) const {
  if (config_.decay_method == AdafactorDecay::pow) return 1 - std::pow(t, -config_.decay_exponent);
  const double b = config_.beta2;
  return b * (1 - std::pow(b, t - 1)) / (1 - std::pow(b, t));
}

std::vector<std::string> Adafactor::slots() const {
  std::vector<std::string> names{"row", "column", "v"};
  if (config_.beta1 > 0) names.emplace_back("m");
  return names;
}

bool Adafactor::factored(const Shape& shape) const {
  if (shape.rank() < 2) return false;
  return std::min(shape[shape.rank() - 2], shape[shape.rank() - 1]) >=
         config_.min_dim_size_to_factor;
}

Shape Adafactor::slot_shape(std::string_view slot, const Parameter& parameter) const {
  const Shape& shape = parameter.shape();
  if (slot == "m") return shape;
  if (!factored(shape)) return slot == "v" ? shape : Shape{0};
  if (slot == "v") return {0};
  const Shape matrices = as_matrices(shape);
  return {matrices[0], slot == "row" ? matrices[1] : matrices[2]};
}

Tensor Adafactor::normalized(const Tensor& g, double decay, OptimizerSegment& segment) const {
  const Tensor q = ops::add(ops::square(g), static_cast<float>(config_.epsilon1));
  const Shape& shape = segment.parameter->shape();
  if (!factored(shape)) return ops::div(g, ops::sqrt(moved(segment.slots[kSquare], q, decay)));
  const Tensor squares = ops::reshape(q, as_matrices(shape));
  const Tensor row = moved(segment.slots[kRow], ops::mean(squares, 2, {.keep_dims = true}), decay);
  const Tensor column =
      moved(segment.slots[kColumn], ops::mean(squares, 1, {.keep_dims = true}), decay);
  // Two factors, each of the size of a gradient's inverse: the product of the two squares may be
  // below the smallest float.
  const Tensor row_factor = ops::sqrt(ops::div(row, ops::mean(row, 1, {.keep_dims = true})));
  const Tensor matrices = ops::reshape(g, as_matrices(shape));
  return flat(ops::div(ops::div(matrices, row_factor), ops::sqrt(column)));
}

void Adafactor::update(const OptimizerStep& step, std::span<OptimizerSegment> segments) {
  for (OptimizerSegment& segment : segments) update(step, segment);
}

void Adafactor::update(const OptimizerStep& step, OptimizerSegment& segment) const {
  Device& device = segment.value.device();
  const auto t = static_cast<double>(step.step + 1);
  const double decay = decay_of(t);
  const Tensor g = scaled(segment.gradient, step.gradient_scale);
  const Tensor x = normalized(g, decay, segment);
  Tensor change = ops::div(scaled(x, step.learning_rate), clip_divisor(x, config_.clip_threshold));
  if (config_.multiply_by_parameter_scale) {
    const Tensor least = Tensor::full(device, {1}, config_.epsilon2);
    change = ops::mul(change, ops::max(root_mean_square(segment.value), least));
  }
  if (config_.beta1 > 0) {
    change = moving_mean(segment.slots[kMomentum], change, config_.beta1);
    assign(segment.slots[kMomentum], change);
  }
  if (config_.weight_decay > 0 && segment.group == DecayFilter::kDecays) {
    change = ops::add(change, scaled(segment.value, step.learning_rate * config_.weight_decay));
  }
  assign(segment.value, ops::sub(segment.value, change));
}

}  // namespace trivet::optim
