// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "sdk/ops/onnx/operators.h"

namespace trivet::test::onnx {
namespace {

using Reduce = std::function<Tensor(const Tensor&, int)>;  // keeps the axis

std::vector<int> axes_of(const Call& c) {
  std::vector<int> axes;
  for (const std::int64_t axis : c.integers("axes", 1)) {
    axes.push_back(c.any().shape().index(static_cast<int>(axis)));
  }
  const bool none = axes.empty() && c.node.integer("noop_with_empty_axes", 0) == 0;
  for (int axis = 0; none && axis < c.any().rank(); ++axis) axes.push_back(axis);
  std::sort(axes.begin(), axes.end());
  return axes;
}

Tensor without(const Tensor& x, const std::vector<int>& axes) {
  std::vector<std::int64_t> kept;
  for (int i = 0; i < x.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) kept.push_back(x.dim(i));
  }
  return ops::reshape(x, shape_of(kept));
}

using Pointwise = Tensor (*)(const Tensor&);

Tensor same(const Tensor& x) {
  return x;
}

void reduction(Operators& all, const char* name, Pointwise before, const Reduce& reduce,
               Pointwise after) {
  all[name] = [=](const Call& c) -> Outputs {
    Tensor y = before(c.f32());
    const std::vector<int> axes = axes_of(c);
    for (const int axis : axes) y = reduce(y, axis);
    y = after(y);
    return {c.node.integer("keepdims", 1) != 0 ? y : without(y, axes)};
  };
}

// Subtracts the largest element to avoid an overflow.
Tensor log_sum_exp(const Tensor& x, int axis) {
  const Tensor top = ops::max(x, axis, {.keep_dims = true});
  return ops::add(ops::log(ops::sum(ops::exp(ops::sub(x, top)), axis, {.keep_dims = true})), top);
}

Tensor index_of_largest(const Call& c, bool smallest) {
  if (c.node.integer("select_last_index", 0) != 0) throw NoCounterpart("the last of equals");
  const int axis = c.any().shape().index(static_cast<int>(c.node.integer("axis", 0)));
  const Tensor y = ops::argmax(smallest ? ops::neg(c.f32()) : c.f32(), axis);
  if (c.node.integer("keepdims", 1) == 0) return y;
  Shape kept = c.any().shape();
  kept.set(axis, 1);
  return ops::reshape(y, kept);
}

// Over the last axis of x with `axis` there; before version 13 over all axes from it on.
Tensor along(const Call& c, Tensor (*f)(const Tensor&)) {
  const Tensor& x = c.f32();
  const bool flat = c.opset < 13;
  const int axis = x.shape().index(static_cast<int>(c.node.integer("axis", flat ? 1 : -1)));
  if (flat) {
    std::int64_t rows = 1;
    for (int i = 0; i < axis; ++i) rows *= x.dim(i);
    return ops::reshape(f(ops::reshape(x, {rows, x.size() / rows})), x.shape());
  }
  std::vector<int> order;
  for (int i = 0; i < x.rank(); ++i) order.push_back(i);
  std::swap(order[static_cast<std::size_t>(axis)], order.back());
  return permuted(f(permuted(x, order)), order);
}

// 1 at the first largest of each row.
Tensor hardmax(const Tensor& x) {
  std::vector<std::int32_t> columns(static_cast<std::size_t>(x.dim(-1)));
  std::iota(columns.begin(), columns.end(), 0);
  const Tensor numbers = Tensor::from<std::int32_t>(x.device(), columns, {x.dim(-1)});
  Shape kept = x.shape();
  kept.set(-1, 1);
  const Tensor largest = ops::reshape(ops::argmax(x, -1), kept);
  return ops::cast(ops::equal(numbers, largest), DType::f32);
}

Tensor cumsum(const Call& c) {
  const int axis = c.any().shape().index(static_cast<int>(c.integers(1)[0]));
  const Tensor& x = c.f32();
  const Tensor total = ops::sum(x, axis, {.keep_dims = true}), forward = ops::cumsum(x, axis);
  const bool reverse = c.node.integer("reverse", 0) != 0;
  const Tensor sums = reverse ? ops::add(ops::sub(total, forward), x) : forward;
  return c.node.integer("exclusive", 0) != 0 ? ops::sub(sums, x) : sums;
}

Outputs top_k(const Call& c) {
  const Tensor& x = c.f32();
  const int axis = x.shape().index(static_cast<int>(c.node.integer("axis", -1)));
  const bool smallest = c.node.integer("largest", 1) == 0;
  std::vector<int> order;
  for (int i = 0; i < x.rank(); ++i) order.push_back(i);
  std::swap(order[static_cast<std::size_t>(axis)], order.back());
  const Tensor turned = permuted(smallest ? ops::neg(x) : x, order);
  const TopK top = ops::top_k(turned, c.integers("k", 1)[0]);
  return {permuted(smallest ? ops::neg(top.values) : top.values, order),
          permuted(top.indices, order)};
}

}  // namespace

void add_reductions(Operators& all) {
  const Reduce sum = [](auto& x, int axis) { return ops::sum(x, axis, {.keep_dims = true}); };
  reduction(all, "ReduceSum", same, sum, same);
  reduction(all, "ReduceL1", ops::abs, sum, same);
  reduction(all, "ReduceL2", ops::square, sum, ops::sqrt);
  reduction(all, "ReduceSumSquare", ops::square, sum, same);
  reduction(all, "ReduceLogSum", same, sum, ops::log);
  reduction(all, "ReduceLogSumExp", same, log_sum_exp, same);
  reduction(
      all, "ReduceMean", same,
      [](auto& x, int axis) { return ops::mean(x, axis, {.keep_dims = true}); }, same);
  reduction(
      all, "ReduceMax", same,
      [](auto& x, int axis) { return ops::max(x, axis, {.keep_dims = true}); }, same);
  reduction(
      all, "ReduceMin", ops::neg,
      [](auto& x, int axis) { return ops::max(x, axis, {.keep_dims = true}); }, ops::neg);
  reduction(
      all, "ReduceProd", same,
      [](auto& x, int axis) { return ops::prod(x, axis, {.keep_dims = true}); }, same);
  all["ArgMax"] = [](const Call& c) -> Outputs { return {index_of_largest(c, false)}; };
  all["ArgMin"] = [](const Call& c) -> Outputs { return {index_of_largest(c, true)}; };
  all["Softmax"] = [](const Call& c) -> Outputs { return {along(c, ops::softmax)}; };
  all["LogSoftmax"] = [](const Call& c) -> Outputs { return {along(c, ops::log_softmax)}; };
  all["Hardmax"] = [](const Call& c) -> Outputs { return {along(c, hardmax)}; };
  all["CumSum"] = [](const Call& c) -> Outputs { return {cumsum(c)}; };
  all["TopK"] = top_k;
}

}  // namespace trivet::test::onnx
