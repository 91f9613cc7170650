// SPDX-License-Identifier: Apache-2.0
// Ops that change the form only: views, and the copies that views do not reach.
#include <algorithm>

#include "op_support.h"

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

struct Range {
  int axis;
  std::int64_t begin, end;
};

Tensor part(const Tensor& x, const Range& range) {
  Shape shape = x.shape();
  shape.set(range.axis, range.end - range.begin);
  return view_of(x, shape, x.impl()->strides, range.begin * x.impl()->strides[range.axis]);
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

struct Concat {
  int axis;
  std::int64_t before;  // along the axis
};

// Concatenation of any number of parts is a chain of these: each part is put into its place.
void put_vjp(Vjp& v) {
  const Concat& place = v.attributes<Concat>();
  const std::int64_t extent = v.input(0).shape()[place.axis];
  v.add(0, part(v.grad_output(), {place.axis, 0, extent}));
  if (!v.wants(1)) return;
  const std::int64_t end = place.before + v.input(1).shape()[place.axis];
  v.add(1, part(v.grad_output(), {place.axis, place.before, end}));
}
constexpr OpDef kConcat{"concat", put_vjp};

Tensor joined(const Tensor& a, const Tensor& b, int axis) {
  Shape shape = a.shape();
  shape.set(axis, a.dim(axis) + b.dim(axis));
  Tensor out = Tensor::empty(a.device(), shape, a.dtype());
  detail::copy_into(part(out, {axis, 0, a.dim(axis)}).view(), a);
  detail::copy_into(part(out, {axis, a.dim(axis), shape[axis]}).view(), b);
  record(kConcat, {a, b}, out, {}, Concat{axis, a.dim(axis)});
  return out;
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
  if (!fits)
    detail::wrong("transpose", "every axis of " + x.shape().to_string() + " once",
                  std::to_string(axes.size()) + " axes");
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
  const Range range{at, begin, end};
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
  const std::int64_t extent = x.dim(axis) / parts;
  std::vector<Tensor> out;
  for (int i = 0; i < parts; ++i) out.push_back(slice(x, axis, i * extent, (i + 1) * extent));
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
  const int at = parts.front().shape().index(axis);
  Tensor out = parts.front();
  for (const Tensor& next : parts.subspan(1)) {
    Shape fits = next.shape();
    if (next.rank() == out.rank()) fits.set(at, out.dim(at));
    if (fits != out.shape() || next.dtype() != out.dtype()) {
      detail::wrong("concat", "tensors that differ along axis " + std::to_string(at) + " only",
                    out.to_string() + " and " + next.to_string());
    }
    detail::expect_beside("concat", "part", next, out, out.dtype());
    out = joined(out, next, at);
  }
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
