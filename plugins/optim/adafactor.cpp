// SPDX-License-Identifier: Apache-2.0
#include "adafactor.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "optim/parts/moments.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/ops.h"
#include "trivet/train/optim_update.h"

namespace trivet::optim {
namespace {

enum Slot : std::size_t { kRow, kColumn, kSquare, kMomentum, kScale };

// The extents of a variable's two factored axes and around them; none: it is not factored.
struct Factored {
  std::int64_t before = 1, rows = 1, between = 1, columns = 1, after = 1;

  Shape matrices() const { return {before * between * after, rows, columns}; }
};

std::optional<Factored> factored_of(const Shape& shape, const AdafactorConfig& config) {
  if (shape.rank() < 2) return std::nullopt;
  std::vector<int> axes(static_cast<std::size_t>(shape.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  if (config.factored_axes == FactoredAxes::largest) {
    std::ranges::stable_sort(axes, std::ranges::greater{}, [&](int axis) { return shape[axis]; });
  } else {
    std::ranges::reverse(axes);
  }
  const auto [first, second] = std::minmax(axes[0], axes[1]);
  Factored out{.rows = shape[first], .columns = shape[second]};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis == first || axis == second) continue;
    std::int64_t& extent = axis < first ? out.before : axis < second ? out.between : out.after;
    extent *= shape[axis];
  }
  if (std::min(out.rows, out.columns) < config.min_dim_size_to_factor) return std::nullopt;
  return out;
}

// [others, rows, columns] of a tensor of the variable's elements, and back.
Tensor as_matrices(const Tensor& x, const Factored& f) {
  const Tensor axes = ops::reshape(x, {f.before, f.rows, f.between, f.columns, f.after});
  return ops::reshape(ops::contiguous(ops::transpose(axes, {0, 2, 4, 1, 3})), f.matrices());
}
Tensor from_matrices(const Tensor& x, const Factored& f) {
  const Tensor axes = ops::reshape(x, {f.before, f.between, f.after, f.rows, f.columns});
  return ops::contiguous(ops::transpose(axes, {0, 3, 1, 4, 2}));
}

Tensor flat(const Tensor& x) {
  return ops::reshape(x, {x.size()});
}

Shape without_first(const Shape& shape) {
  std::vector<std::int64_t> rest;
  for (int axis = 1; axis < shape.rank(); ++axis) rest.push_back(shape[axis]);
  return Shape(rest);
}

// Updates a slot and returns its new value in the shape of `x`.
Tensor moved(Tensor& slot, const Tensor& x, double decay) {
  assign(slot, moving_mean(slot, flat(x), decay));
  return ops::reshape(slot, x.shape());
}

bool is_quantized(const OptimizerSegment& segment) {
  return segment.slots.size() > kScale && segment.slots[kScale].defined();
}

// The variable's rows and columns, where columns have scales.
Shape matrix_of(const OptimizerSegment& segment) {
  return {segment.parameter->shape()[0], segment.slots[kScale].size()};
}

// Flat.
Tensor momentum_of(const OptimizerSegment& segment) {
  const Tensor& m = segment.slots[kMomentum];
  if (!is_quantized(segment)) return widened(m);
  const Tensor values = ops::reshape(m, matrix_of(segment));
  return flat(dequantized({.values = values, .scale = segment.slots[kScale]}));
}

void store_momentum(OptimizerSegment& segment, const Tensor& m) {
  if (!is_quantized(segment)) return store(segment.slots[kMomentum], m);
  const Quantized stored = quantized(ops::reshape(m, matrix_of(segment)));
  assign(segment.slots[kMomentum], flat(stored.values));
  assign(segment.slots[kScale], stored.scale);
}

}  // namespace

void AdafactorConfig::validate(Diagnostics& diagnostics) const {
  LayerAdaptationConfig::validate(diagnostics);
  if (!layerwise_adaptation && exclude_from_layer_adaptation) {
    diagnostics.add("exclude_from_layer_adaptation", "has no effect without layerwise_adaptation",
                    "remove it, or set layerwise_adaptation = true");
  }
  if (layerwise_adaptation && multiply_by_parameter_scale && epsilon2 == 0) {
    diagnostics.add("epsilon2",
                    "is 0, but updates are divided by the scale of each variable with "
                    "layerwise_adaptation and multiply_by_parameter_scale",
                    "set a number above 0");
  }
  if (beta1 == 0 && quantized_dtype != QuantizedDtype::float32) {
    diagnostics.add("quantized_dtype", "has no effect with beta1 = 0: there is no momentum",
                    "remove it, or set beta1, such as 0.9");
  }
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
  if (config_.quantized_dtype == QuantizedDtype::int8) names.emplace_back("m_scale");
  return names;
}

Shape Adafactor::slot_shape(std::string_view slot, const Parameter& parameter) const {
  const Shape& shape = parameter.shape();
  if (slot == "m") return shape;
  if (slot == "m_scale") return shape.rank() == 0 ? Shape{0} : without_first(shape);
  const std::optional<Factored> axes = factored_of(shape, config_);
  if (!axes) return slot == "v" ? shape : Shape{0};
  if (slot == "v") return {0};
  const Shape matrices = axes->matrices();
  return {matrices[0], slot == "row" ? matrices[1] : matrices[2]};
}

DType Adafactor::slot_dtype(std::string_view slot, const Parameter& parameter) const {
  if (slot != "m") return DType::f32;
  switch (config_.quantized_dtype) {
    case QuantizedDtype::bfloat16:
      return DType::bf16;
    case QuantizedDtype::int8:
      return parameter.shape().rank() == 0 ? DType::f32 : DType::u8;
    default:
      return DType::f32;
  }
}

Tensor Adafactor::normalized(const Tensor& g, double decay, OptimizerSegment& segment) const {
  const Tensor q = ops::add(ops::square(g), static_cast<float>(config_.epsilon1));
  const std::optional<Factored> axes = factored_of(segment.parameter->shape(), config_);
  if (!axes) return ops::div(g, ops::sqrt(moved(segment.slots[kSquare], q, decay)));
  const Tensor squares = as_matrices(q, *axes);
  const Tensor row = moved(segment.slots[kRow], ops::mean(squares, 2, {.keep_dims = true}), decay);
  const Tensor column =
      moved(segment.slots[kColumn], ops::mean(squares, 1, {.keep_dims = true}), decay);
  // Two factors, each of the size of a gradient's inverse: the product of the two squares may be
  // below the smallest float.
  const Tensor row_factor = ops::sqrt(ops::div(row, ops::mean(row, 1, {.keep_dims = true})));
  const Tensor matrices = as_matrices(g, *axes);
  return flat(from_matrices(ops::div(ops::div(matrices, row_factor), ops::sqrt(column)), *axes));
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
  std::optional<Tensor> parameter_scale;
  if (config_.multiply_by_parameter_scale) {
    const Tensor least = Tensor::full(device, {1}, config_.epsilon2);
    parameter_scale = ops::max(root_mean_square(segment.value), least);
    change = ops::mul(change, *parameter_scale);
  }
  if (config_.beta1 > 0) {
    change = moving_mean(momentum_of(segment), change, config_.beta1);
    store_momentum(segment, change);
  }
  if (config_.weight_decay > 0 && LayerFilter::decays(segment.group)) {
    change = ops::add(change, scaled(segment.value, step.learning_rate * config_.weight_decay));
  }
  if (config_.layerwise_adaptation && LayerFilter::adapts(segment.group)) {
    // s in parts: the ratio of norms that are 0 is 1 whatever s is.
    const Tensor step_of_one = parameter_scale ? ops::div(change, *parameter_scale) : change;
    change = ops::mul(change, trust_ratio(segment.value, step_of_one, step.learning_rate));
  }
  assign(segment.value, ops::sub(segment.value, change));
}

}  // namespace trivet::optim
