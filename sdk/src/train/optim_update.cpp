// SPDX-License-Identifier: Apache-2.0
#include "trivet/train/optim_update.h"

#include <algorithm>

#include "ops/op_support.h"

namespace trivet {
namespace {

using detail::binary;

// Arithmetic on flat tensors, as the formulas are written.
struct Flat {
  Tensor t;
  Device& device() const { return t.device(); }
};
Flat operator+(const Flat& a, const Flat& b) {
  return {binary("add", TV_ADD, a.t, b.t)};
}
Flat operator-(const Flat& a, const Flat& b) {
  return {binary("sub", TV_SUB, a.t, b.t)};
}
Flat operator*(const Flat& a, const Flat& b) {
  return {binary("mul", TV_MUL, a.t, b.t)};
}
Flat operator/(const Flat& a, const Flat& b) {
  return {binary("div", TV_DIV, a.t, b.t)};
}
Flat operator*(float a, const Flat& b) {
  return {binary("mul", TV_MUL, b.t, b.device().impl().constant(a))};
}
Flat operator+(const Flat& a, float b) {
  return {binary("add", TV_ADD, a.t, a.device().impl().constant(b))};
}
Flat sqrt_of(const Flat& a) {
  return {detail::unary(TV_SQRT, a.t)};
}

Flat sign_of(const Flat& a) {
  const Tensor zero = Tensor::zeros(a.device(), a.t.shape());
  const Tensor one = Tensor::full(a.device(), a.t.shape(), 1);
  const Tensor above = detail::select(binary("less", TV_LT, zero, a.t), one, zero);
  return {detail::select(binary("less", TV_LT, a.t, zero), detail::unary(TV_NEG, one), above)};
}

void store(Tensor& to, const Flat& value) {
  detail::copy_into(to.mutable_view(), value.t);
}

void compose_sgd(const tv_optim& u, OptimizerSegment& s) {
  const Flat w{s.value};
  const Flat g = u.grad_scale * Flat{s.gradient} + u.weight_decay * w;
  if (u.momentum == 0) return store(s.value, w - u.lr * g);
  const Flat v = u.momentum * Flat{s.slots[0]} + g;
  store(s.value, w - u.lr * (u.nesterov != 0 ? g + u.momentum * v : v));
  store(s.slots[0], v);
}

void compose_adam(const tv_optim& u, OptimizerSegment& s) {
  const Flat w{s.value};
  const Flat g = u.grad_scale * Flat{s.gradient};
  const Flat m = u.beta1 * Flat{s.slots[0]} + (1 - u.beta1) * g;
  const Flat v = u.beta2 * Flat{s.slots[1]} + (1 - u.beta2) * (g * g);
  const Flat decayed = w - (u.lr * u.weight_decay) * w;
  store(s.value, decayed - u.step_size * (m / (u.v_scale * sqrt_of(v) + u.epsilon)));
  store(s.slots[0], m);
  store(s.slots[1], v);
}

void compose_lion(const tv_optim& u, OptimizerSegment& s) {
  const Flat w{s.value}, m{s.slots[0]};
  const Flat g = u.grad_scale * Flat{s.gradient};
  const Flat direction = sign_of(u.beta1 * m + (1 - u.beta1) * g);
  const Flat next = u.beta2 * m + (1 - u.beta2) * g;
  store(s.value, w - u.lr * (direction + u.weight_decay * w));
  store(s.slots[0], next);
}

std::size_t slots_needed(const tv_optim& update) {
  if (update.kind == TV_ADAM) return 2;
  return update.kind == TV_SGD && update.momentum == 0 ? 0 : 1;
}

// A tensor that is changed in place is never packed: the change would reach a copy.
float* in_place(const char* op, const char* name, const Tensor& x, const Tensor& like,
                DType dtype = DType::f32) {
  detail::expect_beside(op, name, x, like, dtype);
  if (x.contiguous() && x.shape() == like.shape()) return static_cast<float*>(detail::memory(x));
  detail::wrong(op, std::string(name) + " to be contiguous and of the value's shape",
                x.to_string() + (x.contiguous() ? "" : ", a view") + " for " + like.to_string());
}

bool is_narrow(const Tensor& slot) {
  return slot.defined() && (slot.dtype() == DType::bf16 || slot.dtype() == DType::f16);
}

// Kernels take f32 only. Narrow slots are widened piece by piece: a copy of a whole slot would need
// the memory that they save.
void update_narrow(const tv_optim& update, OptimizerSegment& segment) {
  constexpr std::int64_t kPiece = 1 << 16;
  const std::int64_t size = segment.value.size();
  for (std::int64_t begin = 0; begin < size; begin += kPiece) {
    const auto part = [&](const Tensor& x) {
      return ops::slice(x, 0, begin, std::min(begin + kPiece, size));
    };
    OptimizerSegment piece{part(segment.value), part(segment.gradient), {}, segment.group, nullptr};
    for (const Tensor& slot : segment.slots) {
      piece.slots.push_back(ops::cast(part(slot), DType::f32));
    }
    optim_update(update, piece);
    for (std::size_t i = 0; i < piece.slots.size(); ++i) {
      if (!is_narrow(segment.slots[i])) continue;
      Tensor slot = part(segment.slots[i]);
      detail::copy_into(slot.mutable_view(), piece.slots[i]);
    }
  }
}

}  // namespace

void optim_update(const tv_optim& update, OptimizerSegment& segment) {
  if (segment.slots.size() < slots_needed(update)) {
    throw Error("optim_update: the formula needs " + std::to_string(slots_needed(update)) +
                " slots, the segment has " + std::to_string(segment.slots.size()));
  }
  NoGrad no_grad;
  const char* name = "optim_update";
  detail::expect(name, "value", segment.value);
  segment.gradient = detail::operand_beside(name, "gradient", segment.gradient, segment.value);
  if (std::ranges::any_of(segment.slots, is_narrow)) {
    for (const Tensor& slot : segment.slots) {
      in_place(name, "slot", slot, segment.value, is_narrow(slot) ? slot.dtype() : DType::f32);
    }
    return update_narrow(update, segment);
  }
  tv_optim args = update;
  args.struct_size = sizeof args;
  args.n = segment.value.size();
  args.param = in_place(name, "value", segment.value, segment.value);
  args.grad = in_place(name, "gradient", segment.gradient, segment.value);
  const auto slot = [&](std::size_t i) {
    return i < segment.slots.size() ? in_place(name, "slot", segment.slots[i], segment.value)
                                    : nullptr;
  };
  args.slot0 = slot(0);
  args.slot1 = slot(1);
  Device& device = segment.value.device();
  if (device.try_kernel("optim", &tv_backend::optim, &args)) return;
  switch (update.kind) {
    case TV_SGD:
      return compose_sgd(update, segment);
    case TV_ADAM:
      return compose_adam(update, segment);
    default:
      return compose_lion(update, segment);
  }
}

void assign(Tensor& to, const Tensor& from) {
  detail::expect_defined("assign", "to", to);
  detail::expect("assign", "to", to, to.dtype());
  detail::expect_beside("assign", "from", from, to, to.dtype());
  if (!(to.shape() == from.shape())) {
    throw Error("assign: " + from.to_string() + " does not fit into " + to.to_string());
  }
  detail::copy_into(to.mutable_view(), from);
}

void sum_of_squares(Tensor& out, const Tensor& x) {
  NoGrad no_grad;
  detail::expect("sum_of_squares", "x", x);
  detail::expect_beside("sum_of_squares", "out", out, x);
  if (out.size() != 1) detail::wrong("sum_of_squares", "one element as out", out.to_string());
  Device& device = x.device();
  const tv_view to = out.mutable_view(), from = detail::reshaped(x, {x.size()}).view();
  if (device.try_kernel("sumsq", &tv_backend::sumsq, &to, &from)) return;
  const Tensor flat = detail::reshaped(x, {x.size()});
  const Tensor total = detail::reduce(TV_REDUCE_SUM, binary("mul", TV_MUL, flat, flat), 0);
  detail::copy_into(to, detail::reshaped(total, out.shape()));
}

}  // namespace trivet
