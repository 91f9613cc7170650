// SPDX-License-Identifier: Apache-2.0
// What ops are made of: the mandatory functions of a backend on tensors, off the tape, and
// messages.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "tensor/device_impl.h"
#include "tensor/packing.h"
#include "tensor/tensor_impl.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::detail {

// "[matmul] expected ..., got ..."
[[noreturn]] void wrong(const char* op, const std::string& expected, const std::string& got);
std::string shapes(std::initializer_list<const Tensor*> tensors);

// Operands. Every tensor whose memory reaches the arguments of a backend's function passes one of
// these first, so that kernels get what backend.h promises. `name` is what ops.h calls the operand.

// Throws Error unless x is a tensor.
void expect_defined(const char* op, const char* name, const Tensor& x);
// Throws Error unless x is a tensor of the type on a device. Also notes the op that runs, for the
// table of a memory error.
void expect(const char* op, const char* name, const Tensor& x, DType dtype = DType::f32);
// The same for further operands, which are on the device of the first.
void expect_beside(const char* op, const char* name, const Tensor& x, const Tensor& first,
                   DType dtype = DType::f32);
// Checked as above, and packed on the tape: gradients flow through the packed copy.
Tensor operand(const char* op, const char* name, const Tensor& x, DType dtype = DType::f32);
Tensor operand_beside(const char* op, const char* name, const Tensor& x, const Tensor& first,
                      DType dtype = DType::f32);
// One that may be left out.
Tensor optional_operand(const char* op, const char* name, const Tensor& x, const Tensor& first,
                        DType dtype = DType::f32);
// What an argument struct takes of a packed tensor. Throws Error for any other: a kernel would read
// beside its elements.
void* memory(const Tensor& x);
inline void* memory_or_null(const Tensor& x) {
  return x.defined() ? memory(x) : nullptr;
}

Tensor unary(tv_unary_op op, const Tensor& x);
Shape broadcast(const char* op, const Shape& a, const Shape& b);
Tensor binary(const char* name, tv_binary_op op, const Tensor& a, const Tensor& b);
Tensor select(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor expanded(const Tensor& x, const Shape& shape);  // a view, stride 0 where repeated
Tensor reshaped(const Tensor& x, const Shape& shape);  // a view of a contiguous tensor
// A view on the tape: `count` elements along an axis, every step-th from `begin` on. x has them.
Tensor every(const Tensor& x, int axis, std::int64_t begin, std::int64_t step, std::int64_t count);
Tensor reduce(tv_reduce_op op, const Tensor& x, int axis);  // the axis is dropped
// Adds over the axes along which `from` was repeated to get x's shape.
Tensor sum_to(const Tensor& x, const Shape& from);
// x += y, in place, both contiguous f32.
void add_in_place(Tensor& x, const Tensor& y);
// x = op(x, scalar), in place.
void apply_scalar(tv_binary_op op, Tensor& x, const Tensor& scalar);

// target = beta target + value.
void accumulate(const Vjp::Target& target, const Tensor& value);

// Which factors of a product are transposed.
struct Transposed {
  bool a = false, b = false;
};

// C = beta C + op(A) op(B) on whole contiguous matrices.
void product(const Tensor& a, const Tensor& b, Transposed which, const Tensor& c, std::int64_t m,
             std::int64_t n, std::int64_t k, float beta);

// Losses over classes.

// Rows of logits that exist at a time: those of a vocabulary of 8,192 fill 16 MiB, and larger
// chunks are no faster.
inline constexpr std::int64_t kLossChunkRows = 512;
Shape without_last(const Shape& shape);
// The targets for the rows of x [.., features], packed. Throws Error unless they are i32 [..] and,
// where the host sees them, below `classes`.
Tensor class_targets(const char* op, const Tensor& targets, const Tensor& x, std::int64_t classes);
// f32 [rows]: 1 for each target that counts, 0 where it is negative. One of `classes` or more is an
// Error on every device.
Tensor counting_rows(Device& device, const Tensor& targets, std::int64_t classes);

bool recording_any(std::initializer_list<const Tensor*> inputs);

// Whether the gradient of an activation is computed from its input, or from its output
// (tv_activation).
bool needs_input(Activation act);
// The gradient of an activation composed; `saved` is what the activation keeps (backend.h).
Tensor activation_gradient(Activation act, const Tensor& saved, const Tensor& dy);

// The gradient of an op through its composition: runs `composed` on a tape of its own.
void gradient_by_composition(Vjp& v, std::span<const Tensor> inputs,
                             const std::function<Tensor(std::span<const Tensor>)>& composed);

// An input on the device of x that always wants a gradient, for a node whose other inputs may want
// none. Nothing may be added to it.
inline Tensor anchor(const Tensor& x) {
  static thread_local GradientSlot never_written;
  return make_leaf(x, never_written);
}

}  // namespace trivet::detail
