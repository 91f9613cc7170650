// SPDX-License-Identifier: Apache-2.0
// Reductions over one axis or over all elements.
#include "ops/op_support.h"

namespace trivet {
namespace {

struct Axis {
  int axis;
};

Shape with_one(const Shape& shape, int axis) {
  Shape kept = shape;
  kept.set(axis, 1);
  return kept;
}

// The gradient repeated along the axis that was reduced; it comes with or without that axis.
Tensor along(const Tensor& dy, const Shape& shape, int axis) {
  return detail::expanded(detail::reshaped(dy, with_one(shape, axis)), shape);
}

void sum_vjp(Vjp& v) {
  v.add(0, along(v.grad_output(), v.input(0).shape(), v.attributes<Axis>().axis));
}
constexpr OpDef kSum{"sum", sum_vjp};

void reduce_max_vjp(Vjp& v) {
  const int axis = v.attributes<Axis>().axis;
  const Shape& shape = v.input(0).shape();
  Device& device = v.grad_output().device();
  Shape line;
  {
    std::int64_t extents[TV_MAX_RANK];
    for (int i = 0; i < shape.rank(); ++i) extents[i] = i == axis ? shape[axis] : 1;
    line = Shape(std::span<const std::int64_t>(extents, static_cast<std::size_t>(shape.rank())));
  }
  const Tensor positions = detail::reshaped(device.impl().iota(shape[axis]), line);
  const Tensor first = detail::reshaped(v.saved(0), with_one(shape, axis));
  const Tensor chosen = detail::binary("equal", TV_EQ, positions, first);
  v.add(0,
        detail::select(chosen, along(v.grad_output(), shape, axis), Tensor::zeros(device, shape)));
}
constexpr OpDef kReduceMax{"reduce_max", reduce_max_vjp};

Tensor flattened(const Tensor& x) {
  return ops::reshape(x, {x.size()});
}

}  // namespace

Tensor ops::sum(const Tensor& x, int axis, const ReduceOptions& options) {
  detail::expect("sum", "x", x);
  const int at = x.shape().index(axis);
  Tensor y = detail::reduce(TV_REDUCE_SUM, x, at);
  if (options.keep_dims) y = detail::reshaped(y, with_one(x.shape(), at));
  record(kSum, {x}, y, {}, Axis{at});
  return y;
}

Tensor ops::sum(const Tensor& x) {
  detail::expect("sum", "x", x);
  return sum(flattened(x), 0);
}

Tensor ops::mean(const Tensor& x, int axis, const ReduceOptions& options) {
  detail::expect("mean", "x", x);
  const std::int64_t n = x.dim(axis);
  return mul(sum(x, axis, options), n > 0 ? static_cast<float>(1.0 / static_cast<double>(n)) : 0);
}

Tensor ops::mean(const Tensor& x) {
  detail::expect("mean", "x", x);
  return mean(flattened(x), 0);
}

Tensor ops::max(const Tensor& x, int axis, const ReduceOptions& options) {
  detail::expect("max", "x", x);
  const int at = x.shape().index(axis);
  Tensor y = detail::reduce(TV_REDUCE_MAX, x, at);
  if (options.keep_dims) y = detail::reshaped(y, with_one(x.shape(), at));
  if (detail::recording_any({&x})) {
    record(kReduceMax, {x}, y, {detail::reduce(TV_REDUCE_ARGMAX, x, at)}, Axis{at});
  }
  return y;
}

Tensor ops::argmax(const Tensor& x, int axis) {
  detail::expect("argmax", "x", x);
  return detail::reduce(TV_REDUCE_ARGMAX, x, x.shape().index(axis));
}

Tensor ops::softmax(const Tensor& x) {
  detail::expect("softmax", "x", x);
  const Tensor shifted = exp(sub(x, stop_gradient(max(stop_gradient(x), -1, {.keep_dims = true}))));
  return div(shifted, sum(shifted, -1, {.keep_dims = true}));
}

Tensor ops::weighted_mean(const Tensor& values, const Tensor& weights) {
  detail::expect("weighted_mean", "values", values);
  if (!weights.defined()) return mean(values);
  detail::expect_beside("weighted_mean", "weights", weights, values);
  const Tensor w = stop_gradient(weights);
  const Tensor total = sum(w);
  Tensor none, one;
  {
    NoGrad no_grad;
    one = Tensor::full(values.device(), Shape(), 1);
    none = equal(total, Tensor::zeros(values.device(), Shape()));
  }
  // With no weight at all the sum above is 0, and 0 / 1 is what is wanted.
  return div(sum(mul(values, w)), where(none, one, total));
}

}  // namespace trivet
