// SPDX-License-Identifier: Apache-2.0
// Ops that change the form only: views, and the copies that views do not reach.
#include <algorithm>

#include "ops/op_support.h"

namespace trivet {
namespace {

void reshape_vjp(Vjp& v) {
  v.add(0, detail::reshaped(v.grad_output(), v.input(0).shape()));
}
constexpr OpDef kReshape{"reshape", reshape_vjp};

struct Axes {
  int rank;
  int axis[TV_MAX_RANK];
};

Tensor permuted(const Tensor& x, const Axes& axes) {
  std::int64_t extents[TV_MAX_RANK] = {}, strides[TV_MAX_RANK] = {};
  for (int i = 0; i < axes.rank; ++i) {
    extents[i] = x.dim(axes.axis[i]);
    strides[i] = x.impl()->strides[axes.axis[i]];
  }
  return view_of(x,
                 Shape(std::span<const std::int64_t>(extents, static_cast<std::size_t>(axes.rank))),
                 strides, 0);
}

void transpose_vjp(Vjp& v) {
  const Axes& axes = v.attributes<Axes>();
  Axes back{axes.rank, {}};
  for (int i = 0; i < axes.rank; ++i) back.axis[axes.axis[i]] = i;
  v.add(0, permuted(v.grad_output(), back));
}
constexpr OpDef kTranspose{"transpose", transpose_vjp};

// `count` elements along an axis, every step-th from `begin` on.
struct Range {
  int axis;
  std::int64_t begin, count, step = 1;
};

Tensor part(const Tensor& x, const Range& range) {
  Shape shape = x.shape();
  shape.set(range.axis, range.count);
  std::int64_t strides[TV_MAX_RANK] = {};
  std::copy_n(x.impl()->strides, x.rank(), strides);
  const std::int64_t offset = range.begin * strides[range.axis];
  strides[range.axis] *= range.step;
  return view_of(x, shape, strides, offset);
}

void slice_vjp(Vjp& v) {
  const Tensor& input = v.input(0);
  const Tensor whole = Tensor::zeros(input.device(), input.shape(), input.dtype());
  detail::copy_into(part(whole, v.attributes<Range>()).view(), v.grad_output());
  v.add(0, whole);
}
constexpr OpDef kSlice{"slice", slice_vjp};

void expand_vjp(Vjp& v) {
  v.add(0, detail::sum_to(v.grad_output(), v.input(0).shape()));
}
constexpr OpDef kExpand{"expand", expand_vjp};

void contiguous_vjp(Vjp& v) {
  v.add(0, v.grad_output());
}
constexpr OpDef kContiguous{"contiguous", contiguous_vjp};

// Neighbors along an axis: the boundaries between the inputs and outputs of concat and split.
struct Neighbors {
  int axis, parts;
};

void concat_vjp(Vjp& v) {
  const auto [axis, parts] = v.attributes<Neighbors>();
  std::int64_t begin = 0;
  for (int i = 0; i < parts; ++i) {
    const std::int64_t count = v.input(i).dim(axis);
    if (v.wants(i)) v.add(i, part(v.grad_output(), {axis, begin, count}));
    begin += count;
  }
}
constexpr OpDef kConcat{"concat", concat_vjp};

constexpr std::size_t kInputsOfNode = 6, kOutputsOfNode = 4;

// Puts on the tape that `out` holds the parts. A node has few inputs, so many parts reach `out`
// through views of it: gradients come back in a few copies of `out`, whatever the number of parts.
void record_concat(std::vector<Tensor> parts, Tensor& out, int axis) {
  while (parts.size() > kInputsOfNode) {
    std::vector<Tensor> joined;
    std::int64_t begin = 0;
    for (std::size_t first = 0; first < parts.size(); first += kInputsOfNode) {
      const std::size_t some = std::min(kInputsOfNode, parts.size() - first);
      const auto inputs = std::span<const Tensor>(parts).subspan(first, some);
      std::int64_t count = 0;
      for (const Tensor& input : inputs) count += input.dim(axis);
      Tensor& view = joined.emplace_back(part(out, {axis, begin, count}));
      const Neighbors attributes{axis, static_cast<int>(some)};
      record(kConcat, inputs, {&view, 1}, {}, &attributes, sizeof attributes);
      begin += count;
    }
    parts = std::move(joined);
  }
  const Neighbors attributes{axis, static_cast<int>(parts.size())};
  record(kConcat, parts, {&out, 1}, {}, &attributes, sizeof attributes);
}

void split_vjp(Vjp& v) {
  const auto [axis, parts] = v.attributes<Neighbors>();
  const Tensor& input = v.input(0);
  bool all = true;
  for (int i = 0; i < parts; ++i) all = all && v.grad_output(i).defined();
  const Tensor whole = all ? Tensor::empty(input.device(), input.shape(), input.dtype())
                           : Tensor::zeros(input.device(), input.shape(), input.dtype());
  std::int64_t begin = 0;
  for (int i = 0; i < parts; ++i) {
    const std::int64_t count = v.output(i).dim(axis);
    const Tensor& gradient = v.grad_output(i);
    if (gradient.defined()) detail::copy_into(part(whole, {axis, begin, count}).view(), gradient);
    begin += count;
  }
  v.add(0, whole);
}
constexpr OpDef kSplit{"split", split_vjp};

// `extent` elements each. Many parts are split off views that hold some of them.
void split_into(std::vector<Tensor>& out, const Tensor& x, int axis, std::int64_t extent,
                std::int64_t parts) {
  if (parts == 1) {
    out.push_back(x);
    return;
  }
  constexpr auto kMost = static_cast<std::int64_t>(kOutputsOfNode);
  std::int64_t share = 1;  // parts in each view
  while (share * kMost < parts) share *= kMost;
  std::vector<Tensor> views;
  for (std::int64_t first = 0; first < parts; first += share) {
    views.push_back(part(x, {axis, first * extent, std::min(share, parts - first) * extent}));
  }
  const Neighbors attributes{axis, static_cast<int>(views.size())};
  record(kSplit, {&x, 1}, views, {}, &attributes, sizeof attributes);
  for (const Tensor& view : views) split_into(out, view, axis, extent, view.dim(axis) / extent);
}

}  // namespace

Tensor ops::reshape(const Tensor& x, const Shape& wanted) {
  detail::expect_defined("reshape", "x", x);
  Shape shape = wanted;
  int unknown = -1;
  std::int64_t known = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != -1) {
      known *= shape[axis];
    } else if (unknown >= 0) {
      detail::wrong("reshape", "one extent of -1 at most", shape.to_string());
    } else {
      unknown = axis;
    }
  }
  if (unknown >= 0) shape.set(unknown, known > 0 ? x.size() / known : 0);
  if (shape.size() != x.size()) {
    detail::wrong(
        "reshape",
        "a shape of " + std::to_string(x.size()) + " elements for " + x.shape().to_string(),
        wanted.to_string());
  }
  Tensor y = detail::reshaped(contiguous(x), shape);
  record(kReshape, {x}, y);
  return y;
}

Tensor ops::transpose(const Tensor& x, std::initializer_list<int> axes) {
  detail::expect_defined("transpose", "x", x);
  Axes order{x.rank(), {}};
  bool seen[TV_MAX_RANK] = {};
  bool fits = static_cast<int>(axes.size()) == x.rank();
  int i = 0;
  for (const int axis : axes) {
    if (!fits) break;
    const int at = x.shape().index(axis);
    fits = !seen[at];
    seen[at] = true;
    order.axis[i++] = at;
  }
  if (!fits) {
    detail::wrong("transpose", "every axis of " + x.shape().to_string() + " once",
                  std::to_string(axes.size()) + " axes");
  }
  Tensor y = permuted(x, order);
  record(kTranspose, {x}, y, {}, order);
  return y;
}

Tensor ops::slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end) {
  detail::expect_defined("slice", "x", x);
  const int at = x.shape().index(axis);
  if (begin < 0 || end < begin || end > x.dim(at)) {
    detail::wrong("slice", "0 <= begin <= end <= " + std::to_string(x.dim(at)),
                  std::to_string(begin) + " and " + std::to_string(end));
  }
  return detail::every(x, at, begin, 1, end - begin);
}

Tensor detail::every(const Tensor& x, int axis, std::int64_t begin, std::int64_t step,
                     std::int64_t count) {
  const Range range{axis, begin, count, step};
  Tensor y = part(x, range);
  record(kSlice, {x}, y, {}, range);
  return y;
}

std::vector<Tensor> ops::split(const Tensor& x, int axis, int parts) {
  detail::expect_defined("split", "x", x);
  if (parts < 1 || x.dim(axis) % parts != 0) {
    detail::wrong("split", "an extent that is a multiple of the parts",
                  std::to_string(x.dim(axis)) + " and " + std::to_string(parts));
  }
  const int at = x.shape().index(axis);
  const std::int64_t extent = x.dim(at) / parts;
  std::vector<Tensor> out;
  if (extent == 0) return std::vector<Tensor>(static_cast<std::size_t>(parts), x);
  split_into(out, x, at, extent, parts);
  return out;
}

Tensor ops::expand(const Tensor& x, const Shape& shape) {
  detail::expect_defined("expand", "x", x);
  Tensor y = detail::expanded(x, shape);
  if (!y.same_as(x)) record(kExpand, {x}, y);
  return y;
}

Tensor ops::concat(std::span<const Tensor> parts, int axis) {
  if (parts.empty()) detail::wrong("concat", "one tensor or more", "none");
  for (const Tensor& next : parts) detail::expect_defined("concat", "part", next);
  const Tensor& first = parts.front();
  const int at = first.shape().index(axis);
  Shape whole = first.shape();
  for (const Tensor& next : parts.subspan(1)) {
    Shape fits = next.shape();
    if (next.rank() == first.rank()) fits.set(at, first.dim(at));
    if (fits != first.shape() || next.dtype() != first.dtype()) {
      detail::wrong("concat", "tensors that differ along axis " + std::to_string(at) + " only",
                    first.to_string() + " and " + next.to_string());
    }
    detail::expect_beside("concat", "part", next, first, first.dtype());
    whole.set(at, whole[at] + next.dim(at));
  }
  if (parts.size() == 1) return first;
  Tensor out = Tensor::empty(first.device(), whole, first.dtype());
  std::int64_t begin = 0;
  for (const Tensor& next : parts) {
    detail::copy_into(part(out, {at, begin, next.dim(at)}).view(), next);
    begin += next.dim(at);
  }
  record_concat({parts.begin(), parts.end()}, out, at);
  return out;
}

Tensor ops::contiguous(const Tensor& x) {
  detail::expect_defined("contiguous", "x", x);
  if (x.contiguous()) return x;
  Tensor y = detail::packed(x);
  record(kContiguous, {x}, y);
  return y;
}

}  // namespace trivet
