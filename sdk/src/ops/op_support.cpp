// SPDX-License-Identifier: Apache-2.0
#include "ops/op_support.h"

#include <algorithm>
#include <array>

namespace trivet::detail {

void wrong(const char* op, const std::string& expected, const std::string& got) {
  throw Error("[" + std::string(op) + "] expected " + expected + ", got " + got);
}

void expect_defined(const char* op, const char* name, const Tensor& x) {
  if (!x.defined()) wrong(op, "a tensor as " + std::string(name), "none");
}

namespace {

void expect_type(const char* op, const char* name, const Tensor& x, DType dtype) {
  expect_defined(op, name, x);
  if (x.dtype() == dtype) return;
  wrong(op, std::string(name_of(dtype)) + " as " + name, x.to_string());
}

}  // namespace

void expect(const char* op, const char* name, const Tensor& x, DType dtype) {
  expect_type(op, name, x, dtype);
  if (x.on_host()) wrong(op, std::string(name) + " on a device", x.to_string());
  x.device().impl().op = op;
}

void expect_beside(const char* op, const char* name, const Tensor& x, const Tensor& first,
                   DType dtype) {
  expect_type(op, name, x, dtype);
  if (x.impl()->device == first.impl()->device) return;
  wrong(op, "operands on one device", first.to_string() + " and " + x.to_string() + " as " + name);
}

Tensor operand(const char* op, const char* name, const Tensor& x, DType dtype) {
  expect(op, name, x, dtype);
  return ops::contiguous(x);
}

Tensor operand_beside(const char* op, const char* name, const Tensor& x, const Tensor& first,
                      DType dtype) {
  expect_beside(op, name, x, first, dtype);
  return ops::contiguous(x);
}

Tensor optional_operand(const char* op, const char* name, const Tensor& x, const Tensor& first,
                        DType dtype) {
  return x.defined() ? operand_beside(op, name, x, first, dtype) : x;
}

void* memory(const Tensor& x) {
  if (!x.contiguous()) throw Error("a kernel was to read " + x.to_string() + " unpacked");
  return x.view().data;
}

std::string shapes(std::initializer_list<const Tensor*> tensors) {
  std::string text;
  for (const Tensor* tensor : tensors) {
    text += (text.empty() ? "" : ", ");
    text += tensor->defined() ? tensor->shape().to_string() : "nothing";
  }
  return text;
}

Tensor unary(tv_unary_op op, const Tensor& x) {
  Device& device = x.device();
  const Tensor in = packed(x);
  const Tensor out = Tensor::empty(device, x.shape(), x.dtype());
  const tv_view to = out.view(), from = in.view();
  device.call("unary", &tv_backend::unary, op, &to, &from);
  return out;
}

Shape broadcast(const char* op, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::int64_t extents[TV_MAX_RANK] = {};
  for (int axis = 0; axis < rank; ++axis) {
    const int in_a = axis - (rank - a.rank()), in_b = axis - (rank - b.rank());
    const std::int64_t x = in_a < 0 ? 1 : a[in_a], y = in_b < 0 ? 1 : b[in_b];
    if (x != y && x != 1 && y != 1) {
      wrong(op, "shapes that broadcast", a.to_string() + " and " + b.to_string());
    }
    extents[axis] = x == 1 ? y : x;
  }
  return Shape(std::span<const std::int64_t>(extents, static_cast<std::size_t>(rank)));
}

Tensor expanded(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  std::int64_t strides[TV_MAX_RANK] = {};
  const int missing = shape.rank() - x.rank();
  if (missing < 0) {
    wrong("expand", "a shape of rank " + std::to_string(x.rank()) + " or more", shape.to_string());
  }
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t from = x.dim(axis), to = shape[axis + missing];
    if (from != to && from != 1) {
      wrong("expand", "a shape that " + x.shape().to_string() + " can be repeated to",
            shape.to_string());
    }
    strides[axis + missing] = from == to ? x.impl()->strides[axis] : 0;
  }
  return view_of(x, shape, strides, 0);
}

Tensor reshaped(const Tensor& x, const Shape& shape) {
  const Tensor base = packed(x);
  std::int64_t strides[TV_MAX_RANK] = {};
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return view_of(base, shape, strides, 0);
}

namespace {

// The views of operands that are walked together, with neighboring axes joined where all allow it.
class Joined {
 public:
  Joined(const Tensor& out, std::initializer_list<const Tensor*> operands) {
    views_[count_++] = out.view();
    for (const Tensor* operand : operands) views_[count_++] = operand->view();
    for (tv_view& view : views_) view.rank = 0;
    for (int axis = 0; axis < out.rank(); ++axis) {
      if (out.dim(axis) == 1) continue;
      add(axis, out, operands);
    }
    if (rank_ == 0) {
      for (tv_view& view : views_) view.shape[0] = view.stride[0] = 1;
      rank_ = 1;
    }
    for (tv_view& view : views_) view.rank = static_cast<std::uint8_t>(rank_);
  }
  int rank() const { return rank_; }
  const tv_view* operator[](std::size_t i) const { return &views_[i]; }

 private:
  void add(int axis, const Tensor& out, std::initializer_list<const Tensor*> operands) {
    const auto stride = [&](std::size_t i) {
      return i == 0 ? out.impl()->strides[axis] : operands.begin()[i - 1]->impl()->strides[axis];
    };
    const std::int64_t extent = out.dim(axis);
    bool joins = rank_ > 0;
    for (std::size_t i = 0; i < count_ && joins; ++i) {
      joins = views_[i].stride[rank_ - 1] == stride(i) * extent;
    }
    if (!joins) ++rank_;
    for (std::size_t i = 0; i < count_; ++i) {
      views_[i].shape[rank_ - 1] = joins ? views_[i].shape[rank_ - 1] * extent : extent;
      views_[i].stride[rank_ - 1] = stride(i);
    }
  }
  std::array<tv_view, 4> views_{};
  std::size_t count_ = 0;
  int rank_ = 0;
};

constexpr int kMostAxes = 3;  // of binary and select, see backend.h

}  // namespace

Tensor binary(const char* name, tv_binary_op op, const Tensor& a, const Tensor& b) {
  expect_defined(name, "a", a);
  expect_defined(name, "b", b);
  expect(name, "a", a, a.dtype());
  if (a.dtype() != b.dtype()) {
    wrong(name, "two tensors of one type", a.to_string() + " and " + b.to_string());
  }
  expect_beside(name, "b", b, a, a.dtype());
  Device& device = a.device();
  const Shape shape = broadcast(name, a.shape(), b.shape());
  const bool compares = op == TV_LT || op == TV_EQ;
  const Tensor out = Tensor::empty(device, shape, compares ? DType::boolean : a.dtype());
  Tensor x = expanded(packed(a), shape), y = expanded(packed(b), shape);
  Joined views(out, {&x, &y});
  if (views.rank() > kMostAxes) {
    x = packed(x);
    y = packed(y);
    views = Joined(out, {&x, &y});
  }
  device.call(name, &tv_backend::binary, op, views[0], views[1], views[2]);
  return out;
}

Tensor select(const Tensor& condition, const Tensor& a, const Tensor& b) {
  expect_defined("where", "condition", condition);
  expect_defined("where", "a", a);
  expect_defined("where", "b", b);
  if (condition.dtype() != DType::boolean || a.dtype() != b.dtype()) {
    wrong("where", "a bool condition and two tensors of one type",
          condition.to_string() + ", " + a.to_string() + " and " + b.to_string());
  }
  expect("where", "a", a, a.dtype());
  expect_beside("where", "condition", condition, a, DType::boolean);
  expect_beside("where", "b", b, a, b.dtype());
  Device& device = a.device();
  const Shape shape =
      broadcast("where", broadcast("where", condition.shape(), a.shape()), b.shape());
  const Tensor out = Tensor::empty(device, shape, a.dtype());
  Tensor c = expanded(packed(condition), shape), x = expanded(packed(a), shape),
         y = expanded(packed(b), shape);
  Joined views(out, {&c, &x, &y});
  if (views.rank() > kMostAxes) {
    c = packed(c);
    x = packed(x);
    y = packed(y);
    views = Joined(out, {&c, &x, &y});
  }
  device.call("where", &tv_backend::select, views[0], views[1], views[2], views[3]);
  return out;
}

Tensor reduce(tv_reduce_op op, const Tensor& x, int axis) {
  Device& device = x.device();
  const Tensor in = packed(x);
  std::int64_t outer = 1, inner = 1;
  std::vector<std::int64_t> rest;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis) continue;
    (i < axis ? outer : inner) *= x.dim(i);
    rest.push_back(x.dim(i));
  }
  const bool index = op == TV_REDUCE_ARGMAX;
  const Tensor out = Tensor::empty(device, Shape(rest), index ? DType::i32 : x.dtype());
  const Tensor from = reshaped(in, {outer, x.dim(axis), inner}), to = reshaped(out, {outer, inner});
  const tv_view target = to.view(), source = from.view();
  device.call("reduce", &tv_backend::reduce, op, &target, &source);
  return out;
}

Tensor sum_to(const Tensor& x, const Shape& from) {
  if (x.shape() == from) return x;
  Tensor sum = x;
  const int missing = x.rank() - from.rank();
  for (int axis = 0; axis < x.rank(); ++axis) {
    const bool repeated = axis < missing || (from[axis - missing] == 1 && x.dim(axis) != 1);
    if (!repeated) continue;
    Shape kept = sum.shape();
    kept.set(axis, 1);
    sum = reshaped(reduce(TV_REDUCE_SUM, sum, axis), kept);
  }
  return reshaped(sum, from);
}

void add_in_place(Tensor& x, const Tensor& y) {
  Device& device = x.device();
  const Tensor other = packed(y);
  const Shape flat{x.size()};
  const tv_view target = reshaped(x, flat).view(), source = reshaped(other, flat).view();
  device.call("add", &tv_backend::binary, TV_ADD, &target, &target, &source);
}

void apply_scalar(tv_binary_op op, Tensor& x, const Tensor& scalar) {
  if (x.size() == 0) return;
  Device& device = x.device();
  const tv_view out = x.mutable_view();
  const tv_view in = x.view();
  const tv_view number = ops::expand(scalar, x.shape()).view();
  device.call("binary", &tv_backend::binary, op, &out, &in, &number);
}

void accumulate(const Vjp::Target& target, const Tensor& value) {
  Tensor gradient = target.gradient;
  if (target.beta == 0) {
    copy_into(gradient.mutable_view(), value);
  } else {
    add_in_place(gradient, value);
  }
}

void product(const Tensor& a, const Tensor& b, Transposed which, const Tensor& c, std::int64_t m,
             std::int64_t n, std::int64_t k, float beta) {
  Device& device = c.device();
  tv_matmul args{};
  args.struct_size = sizeof args;
  args.dtype = TV_F32;
  args.trans_a = which.a;
  args.trans_b = which.b;
  args.batch = 1;
  args.m = m;
  args.n = n;
  args.k = k;
  args.a = memory(a);
  args.lda = which.a ? m : k;
  args.b = memory(b);
  args.ldb = which.b ? k : n;
  args.c = memory(c);
  args.ldc = n;
  args.alpha = 1;
  args.beta = beta;
  device.call("matmul", &tv_backend::matmul, &args);
}

bool recording_any(std::initializer_list<const Tensor*> inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const Tensor* input) {
    return input->defined() && input->requires_grad();
  });
}

void gradient_by_composition(Vjp& v, std::span<const Tensor> inputs,
                             const std::function<Tensor(std::span<const Tensor>)>& composed) {
  std::vector<GradientSlot> slots(inputs.size());
  std::vector<Tensor> leaves;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool wanted = inputs[i].defined() && v.wants(static_cast<int>(i));
    leaves.push_back(wanted ? make_leaf(inputs[i], slots[i]) : inputs[i]);
  }
  Tape tape;
  Tensor y;
  {
    Tape::Recording recording(tape);
    y = composed(leaves);
  }
  tape.backward(y, v.grad_output());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].written) v.add(static_cast<int>(i), slots[i].gradient);
  }
}

}  // namespace trivet::detail
