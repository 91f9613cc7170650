// SPDX-License-Identifier: Apache-2.0
// Elementwise ops and their gradients. A unary op keeps its input or its output, whichever the
// gradient needs.
#include "ops/op_support.h"

namespace trivet {
namespace {

using detail::binary;
using detail::unary;

Tensor multiplied(const Tensor& a, const Tensor& b) {
  return binary("mul", TV_MUL, a, b);
}
Tensor scaled(const Tensor& x, float factor) {
  return multiplied(x, x.device().impl().constant(factor));
}
Tensor shifted(const Tensor& x, float term) {
  return binary("add", TV_ADD, x, x.device().impl().constant(term));
}
Tensor zeros_like(const Tensor& x) {
  return Tensor::zeros(x.device(), x.shape());
}

// ---- unary

struct UnaryDef {
  tv_unary_op op;
  bool keeps_output;
  OpDef def;
};

void neg_vjp(Vjp& v) {
  v.add(0, unary(TV_NEG, v.grad_output()));
}
void abs_vjp(Vjp& v) {
  const Tensor& x = v.saved(0);
  const Tensor zero = zeros_like(x);
  const Tensor& dy = v.grad_output();
  const Tensor where_positive = detail::select(binary("less", TV_LT, zero, x), dy, zero);
  v.add(0, detail::select(binary("less", TV_LT, x, zero), unary(TV_NEG, dy), where_positive));
}
void exp_vjp(Vjp& v) {
  v.add(0, multiplied(v.grad_output(), v.saved(0)));
}
void log_vjp(Vjp& v) {
  v.add(0, binary("div", TV_DIV, v.grad_output(), v.saved(0)));
}
void sqrt_vjp(Vjp& v) {
  v.add(0, binary("div", TV_DIV, scaled(v.grad_output(), 0.5F), v.saved(0)));
}
void rsqrt_vjp(Vjp& v) {  // y = x^-1/2, y' = -y^3 / 2
  const Tensor& y = v.saved(0);
  v.add(0, multiplied(scaled(v.grad_output(), -0.5F), multiplied(y, multiplied(y, y))));
}
void tanh_vjp(Vjp& v) {
  const Tensor& y = v.saved(0);
  v.add(0, multiplied(v.grad_output(), shifted(unary(TV_NEG, multiplied(y, y)), 1)));
}
void sigmoid_vjp(Vjp& v) {
  const Tensor& y = v.saved(0);
  v.add(0, multiplied(v.grad_output(), multiplied(y, shifted(unary(TV_NEG, y), 1))));
}
void sin_vjp(Vjp& v) {
  v.add(0, multiplied(v.grad_output(), unary(TV_COS, v.saved(0))));
}
void cos_vjp(Vjp& v) {
  v.add(0, unary(TV_NEG, multiplied(v.grad_output(), unary(TV_SIN, v.saved(0)))));
}
void square_vjp(Vjp& v) {
  v.add(0, multiplied(scaled(v.grad_output(), 2), v.saved(0)));
}

constexpr UnaryDef kNeg{TV_NEG, false, {"neg", neg_vjp}};
constexpr UnaryDef kAbs{TV_ABS, false, {"abs", abs_vjp}};
constexpr UnaryDef kExp{TV_EXP, true, {"exp", exp_vjp}};
constexpr UnaryDef kLog{TV_LOG, false, {"log", log_vjp}};
constexpr UnaryDef kSqrt{TV_SQRT, true, {"sqrt", sqrt_vjp}};
constexpr UnaryDef kRsqrt{TV_RSQRT, true, {"rsqrt", rsqrt_vjp}};
constexpr UnaryDef kTanh{TV_TANH, true, {"tanh", tanh_vjp}};
constexpr UnaryDef kSigmoid{TV_SIGMOID, true, {"sigmoid", sigmoid_vjp}};
constexpr UnaryDef kSin{TV_SIN, false, {"sin", sin_vjp}};
constexpr UnaryDef kCos{TV_COS, false, {"cos", cos_vjp}};

Tensor run(const UnaryDef& def, const Tensor& x) {
  detail::expect(def.def.name, "x", x);
  Tensor y = unary(def.op, x);
  record(def.def, {x}, y, {def.keeps_output ? y : x});
  return y;
}

// ---- binary

void add_vjp(Vjp& v) {
  v.add(0, detail::sum_to(v.grad_output(), v.input(0).shape()));
  v.add(1, detail::sum_to(v.grad_output(), v.input(1).shape()));
}
void sub_vjp(Vjp& v) {
  v.add(0, detail::sum_to(v.grad_output(), v.input(0).shape()));
  if (v.wants(1)) v.add(1, detail::sum_to(unary(TV_NEG, v.grad_output()), v.input(1).shape()));
}
void mul_vjp(Vjp& v) {
  const Tensor& dy = v.grad_output();
  if (v.wants(0)) v.add(0, detail::sum_to(multiplied(dy, v.saved(1)), v.input(0).shape()));
  if (v.wants(1)) v.add(1, detail::sum_to(multiplied(dy, v.saved(0)), v.input(1).shape()));
}
void div_vjp(Vjp& v) {
  const Tensor& b = v.saved(1);
  const Tensor part = binary("div", TV_DIV, v.grad_output(), b);
  if (v.wants(0)) v.add(0, detail::sum_to(part, v.input(0).shape()));
  if (!v.wants(1)) return;
  const Tensor quotient = binary("div", TV_DIV, v.saved(0), b);
  v.add(1, detail::sum_to(unary(TV_NEG, multiplied(part, quotient)), v.input(1).shape()));
}
// The gradient goes to a unless `b_wins`, to b otherwise.
void extremum_vjp(Vjp& v, const Tensor& b_wins) {
  const Tensor& dy = v.grad_output();
  const Tensor zero = zeros_like(dy);
  if (v.wants(0)) v.add(0, detail::sum_to(detail::select(b_wins, zero, dy), v.input(0).shape()));
  if (v.wants(1)) v.add(1, detail::sum_to(detail::select(b_wins, dy, zero), v.input(1).shape()));
}
void max_vjp(Vjp& v) {
  extremum_vjp(v, binary("less", TV_LT, v.saved(0), v.saved(1)));
}
void min_vjp(Vjp& v) {
  extremum_vjp(v, binary("less", TV_LT, v.saved(1), v.saved(0)));
}
void pow_vjp(Vjp& v) {
  const Tensor &a = v.saved(0), &b = v.saved(1), &dy = v.grad_output();
  if (v.wants(0)) {
    const Tensor slope = multiplied(b, binary("pow", TV_POW, a, shifted(b, -1)));
    v.add(0, detail::sum_to(multiplied(dy, slope), v.input(0).shape()));
  }
  if (!v.wants(1)) return;
  // 0^b has slope 0 in b, and log(0) would make it NaN.
  const Tensor zero = zeros_like(a);
  const Tensor positive = binary("less", TV_LT, zero, a);
  const Tensor safe = detail::select(positive, a, Tensor::full(a.device(), a.shape(), 1));
  const Tensor slope = multiplied(binary("pow", TV_POW, a, b), unary(TV_LOG, safe));
  v.add(1, detail::sum_to(multiplied(dy, slope), v.input(1).shape()));
}

constexpr OpDef kAdd{"add", add_vjp};
constexpr OpDef kSub{"sub", sub_vjp};
constexpr OpDef kMul{"mul", mul_vjp};
constexpr OpDef kDiv{"div", div_vjp};
constexpr OpDef kMax{"max", max_vjp};
constexpr OpDef kMin{"min", min_vjp};
constexpr OpDef kPow{"pow", pow_vjp};
constexpr OpDef kSquare{"square", square_vjp};

// The values that a gradient needs from its operation.
enum class Keeps { nothing, operands };

Tensor run(const OpDef& def, tv_binary_op op, const Tensor& a, const Tensor& b, Keeps keeps) {
  detail::expect(def.name, "a", a);
  detail::expect_beside(def.name, "b", b, a);
  Tensor y = binary(def.name, op, a, b);
  if (keeps == Keeps::operands) {
    record(def, {a, b}, y, {a, b});
  } else {
    record(def, {a, b}, y);
  }
  return y;
}

void where_vjp(Vjp& v) {
  const Tensor& dy = v.grad_output();
  const Tensor zero = zeros_like(dy);
  const Tensor& condition = v.saved(0);
  if (v.wants(1)) v.add(1, detail::sum_to(detail::select(condition, dy, zero), v.input(1).shape()));
  if (v.wants(2)) v.add(2, detail::sum_to(detail::select(condition, zero, dy), v.input(2).shape()));
}
constexpr OpDef kWhere{"where", where_vjp};

bool floating(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

void cast_vjp(Vjp& v) {
  v.add(0, ops::cast(v.grad_output(), v.input(0).dtype()));
}
constexpr OpDef kCast{"cast", cast_vjp};

}  // namespace

Tensor ops::neg(const Tensor& x) {
  return run(kNeg, x);
}
Tensor ops::abs(const Tensor& x) {
  return run(kAbs, x);
}
Tensor ops::exp(const Tensor& x) {
  return run(kExp, x);
}
Tensor ops::log(const Tensor& x) {
  return run(kLog, x);
}
Tensor ops::sqrt(const Tensor& x) {
  return run(kSqrt, x);
}
Tensor ops::rsqrt(const Tensor& x) {
  return run(kRsqrt, x);
}
Tensor ops::tanh(const Tensor& x) {
  return run(kTanh, x);
}
Tensor ops::sigmoid(const Tensor& x) {
  return run(kSigmoid, x);
}
Tensor ops::sin(const Tensor& x) {
  return run(kSin, x);
}
Tensor ops::cos(const Tensor& x) {
  return run(kCos, x);
}

Tensor ops::floor(const Tensor& x) {
  detail::expect("floor", "x", x);
  return unary(TV_FLOOR, x);
}

Tensor ops::square(const Tensor& x) {
  detail::expect("square", "x", x);
  Tensor y = multiplied(x, x);
  record(kSquare, {x}, y, {x});
  return y;
}

Tensor ops::add(const Tensor& a, const Tensor& b) {
  return run(kAdd, TV_ADD, a, b, Keeps::nothing);
}
Tensor ops::sub(const Tensor& a, const Tensor& b) {
  return run(kSub, TV_SUB, a, b, Keeps::nothing);
}
Tensor ops::mul(const Tensor& a, const Tensor& b) {
  return run(kMul, TV_MUL, a, b, Keeps::operands);
}
Tensor ops::div(const Tensor& a, const Tensor& b) {
  return run(kDiv, TV_DIV, a, b, Keeps::operands);
}
Tensor ops::max(const Tensor& a, const Tensor& b) {
  return run(kMax, TV_MAX, a, b, Keeps::operands);
}
Tensor ops::min(const Tensor& a, const Tensor& b) {
  return run(kMin, TV_MIN, a, b, Keeps::operands);
}
Tensor ops::pow(const Tensor& a, const Tensor& b) {
  return run(kPow, TV_POW, a, b, Keeps::operands);
}
Tensor ops::add(const Tensor& a, float b) {
  detail::expect("add", "a", a);
  return add(a, a.device().impl().constant(b));
}
Tensor ops::mul(const Tensor& a, float b) {
  detail::expect("mul", "a", a);
  return mul(a, a.device().impl().constant(b));
}

Tensor ops::less(const Tensor& a, const Tensor& b) {
  return binary("less", TV_LT, a, b);
}
Tensor ops::equal(const Tensor& a, const Tensor& b) {
  detail::expect_defined("equal", "a", a);
  detail::expect_defined("equal", "b", b);
  // Backends compare f32 and i32; bytes fit in the latter.
  const bool bytes = a.dtype() == DType::u8 || a.dtype() == DType::boolean;
  if (!bytes || a.dtype() != b.dtype()) return binary("equal", TV_EQ, a, b);
  return binary("equal", TV_EQ, cast(a, DType::i32), cast(b, DType::i32));
}

Tensor ops::where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  Tensor y = detail::select(condition, a, b);
  record(kWhere, {condition, a, b}, y, {condition});
  return y;
}

Tensor ops::cast(const Tensor& x, DType dtype) {
  detail::expect_defined("cast", "x", x);
  if (x.dtype() == dtype) return x;
  detail::expect("cast", "x", x, x.dtype());
  Tensor y = Tensor::empty(x.device(), x.shape(), dtype);
  detail::copy_into(y.mutable_view(), x);
  if (floating(x.dtype()) && floating(dtype)) record(kCast, {x}, y);
  return y;
}

Tensor ops::stop_gradient(const Tensor& x) {
  detail::expect_defined("stop_gradient", "x", x);
  return Tensor(x.impl()->alias());
}

}  // namespace trivet
