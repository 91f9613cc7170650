// SPDX-License-Identifier: Apache-2.0
// Products: matmul over leading axes, and the fused linear layer.
#include <algorithm>
#include <vector>

#include "ops/op_support.h"
#include "ops/saved_activations.h"

namespace trivet {
namespace {

using detail::Transposed;

Shape leading(const Tensor& x) {
  return Shape(std::span(x.shape().begin(), static_cast<std::size_t>(x.rank() - 2)));
}

Shape with_matrix(const Shape& batch, std::int64_t rows, std::int64_t columns) {
  std::vector<std::int64_t> extents(batch.begin(), batch.end());
  extents.push_back(rows);
  extents.push_back(columns);
  return Shape(extents);
}

// Off the tape. Shapes are checked by the caller.
Tensor multiply(const Tensor& a, const Tensor& b, Transposed which) {
  Device& device = a.device();
  const Tensor x = detail::packed(a), y = detail::packed(b);
  const Shape batch = a.rank() >= b.rank() ? leading(a) : leading(b);
  tv_matmul args{};
  args.struct_size = sizeof args;
  args.dtype = TV_F32;
  args.trans_a = which.a;
  args.trans_b = which.b;
  args.m = a.dim(which.a ? -1 : -2);
  args.k = a.dim(which.a ? -2 : -1);
  args.n = b.dim(which.b ? -2 : -1);
  args.batch = batch.size();
  args.lda = a.dim(-1);
  args.ldb = b.dim(-1);
  args.ldc = args.n;
  args.stride_a = a.rank() == 2 ? 0 : args.m * args.k;
  args.stride_b = b.rank() == 2 ? 0 : args.k * args.n;
  args.stride_c = args.m * args.n;
  args.alpha = 1;
  const Tensor c = Tensor::empty(device, with_matrix(batch, args.m, args.n));
  if (b.rank() == 2 && !which.a && a.rank() > 2) {  // one tall product
    args.m *= args.batch;
    args.batch = 1;
  }
  args.a = detail::memory(x);
  args.b = detail::memory(y);
  args.c = detail::memory(c);
  device.call("matmul", &tv_backend::matmul, &args);
  return c;
}

// Both with the leading axes of the result: a matrix that served all products is repeated.
Tensor batched(const Tensor& x, const Tensor& other) {
  if (x.rank() >= other.rank()) return x;
  return detail::expanded(x, with_matrix(leading(other), x.dim(-2), x.dim(-1)));
}

void matmul_vjp(Vjp& v) {
  const auto [ta, tb] = v.attributes<Transposed>();
  const Tensor &a = v.saved(0), &b = v.saved(1), &dc = v.grad_output();
  if (v.wants(0)) {
    const Tensor wide = batched(b, dc);
    const Tensor da =
        ta ? multiply(wide, dc, {.a = tb, .b = true}) : multiply(dc, wide, {.b = !tb});
    v.add(0, detail::sum_to(da, a.shape()));
  }
  if (!v.wants(1)) return;
  const bool tall = b.rank() == 2 && !ta;
  if (tall) {  // the sum over the leading axes is part of one product
    const std::int64_t m = dc.size() / std::max<std::int64_t>(1, dc.dim(-1)), n = dc.dim(-1),
                       k = a.dim(-1);
    const Vjp::Target db = v.target(1);
    const Tensor x = detail::packed(a), dy = detail::packed(dc);
    if (tb) {
      detail::product(dy, x, {.a = true}, db.gradient, n, k, m, db.beta);
    } else {
      detail::product(x, dy, {.a = true}, db.gradient, k, n, m, db.beta);
    }
    return;
  }
  const Tensor wide = batched(a, dc);
  const Tensor db = tb ? multiply(dc, wide, {.a = true, .b = ta}) : multiply(wide, dc, {.a = !ta});
  v.add(1, detail::sum_to(db, b.shape()));
}
constexpr OpDef kMatmul{"matmul", matmul_vjp};

// ---- linear

struct Linear {
  Activation activation;
  bool bias;
};

Tensor composed_linear(const Tensor& x, const Tensor& w, const Tensor& b, Activation act) {
  Tensor z = ops::matmul(x, w);
  if (b.defined()) z = ops::add(z, b);
  return act == Activation::none ? z : ops::activation(z, act);
}

tv_linear linear_arguments(const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& y,
                           const Tensor& pre, Activation act) {
  tv_linear args{};
  args.struct_size = sizeof args;
  args.dtype = TV_F32;
  args.activation = static_cast<std::uint8_t>(act);
  args.in = w.dim(0);
  args.out = w.dim(1);
  args.rows = y.size() / std::max<std::int64_t>(1, args.out);
  args.x = detail::memory(x);
  args.w = detail::memory(w);
  args.b = detail::memory_or_null(b);
  args.y = detail::memory(y);
  args.pre = detail::memory_or_null(pre);
  return args;
}

// dz [rows, out]; writes to those of dx, dw and db that are wanted.
void compose_linear_gradient(const Tensor& x, const Tensor& w, const Tensor& dz, const Tensor& dx,
                             const Vjp::Target& dw, const Vjp::Target& db) {
  const std::int64_t rows = dz.dim(0), in = w.dim(0), out = w.dim(1);
  if (dx.defined()) detail::product(dz, w, {.b = true}, dx, rows, in, out, 0);
  if (dw.gradient.defined()) {
    detail::product(x, dz, {.a = true}, dw.gradient, in, out, rows, dw.beta);
  }
  if (db.gradient.defined()) detail::accumulate(db, detail::reduce(TV_REDUCE_SUM, dz, 0));
}

void linear_vjp(Vjp& v) {
  const Linear& a = v.attributes<Linear>();
  const Tensor &x = v.saved(0), &w = v.saved(1), &dy = v.grad_output();
  Device& device = dy.device();
  const bool plain = a.activation == Activation::none;
  const Tensor dz = plain || v.may_overwrite_grad_output() ? dy : Tensor::empty(device, dy.shape());
  Tensor dx = v.wants(0) ? Tensor::empty(device, x.shape()) : Tensor();
  const Vjp::Target dw = v.wants(1) ? v.target(1) : Vjp::Target{{}, 0};
  const Vjp::Target db = a.bias && v.wants(2) ? v.target(2) : Vjp::Target{{}, 0};
  tv_linear_grad args{};
  args.struct_size = sizeof args;
  args.dtype = TV_F32;
  args.activation = static_cast<std::uint8_t>(a.activation);
  args.in = w.dim(0);
  args.out = w.dim(1);
  args.rows = dy.size() / std::max<std::int64_t>(1, args.out);
  args.x = detail::memory(x);
  args.w = detail::memory(w);
  args.saved = plain ? nullptr : detail::memory(v.saved(2));
  args.dy = detail::memory(dy);
  args.dz = detail::memory(dz);
  args.dx = detail::memory_or_null(dx);
  args.dw = detail::memory_or_null(dw.gradient);
  args.db = detail::memory_or_null(db.gradient);
  args.beta_dw = dw.beta;
  args.beta_db = db.beta;
  if (!device.try_kernel("linear_bwd", &tv_backend::linear_bwd, &args)) {
    const Tensor flat =
        detail::reshaped(detail::activation_gradient(a.activation, plain ? dy : v.saved(2), dy),
                         {args.rows, args.out});
    compose_linear_gradient(x, w, flat, dx, dw, db);
  }
  if (dx.defined()) v.add(0, dx);
}
constexpr OpDef kLinear{"linear", linear_vjp};

}  // namespace

Tensor ops::matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  const auto [trans_a, trans_b] = options;
  detail::expect("matmul", "a", a);
  detail::expect_beside("matmul", "b", b, a);
  const bool ranks = a.rank() >= 2 && b.rank() >= 2;
  const bool fits = ranks && a.dim(trans_a ? -2 : -1) == b.dim(trans_b ? -1 : -2) &&
                    (a.rank() == 2 || b.rank() == 2 || leading(a) == leading(b));
  if (!fits) {
    detail::wrong("matmul", "[.., m, k] and [.., k, n]",
                  detail::shapes({&a, &b}) + (trans_a ? ", first transposed" : "") +
                      (trans_b ? ", second transposed" : ""));
  }
  const bool batched = a.rank() > 2 && b.rank() > 2;
  const detail::KeptOp op{
      "matmul", batched ? detail::KeptOp::Kind::other_product : detail::KeptOp::Kind::product,
      detail::on_tape(detail::recording_any({&a, &b}))};
  const auto compute = [&, ta = trans_a, tb = trans_b]() -> std::vector<Tensor> {
    return {multiply(a, b, {.a = ta, .b = tb})};
  };
  Tensor c = detail::SavingActivations::kept(op, compute)[0];
  const double flops =
      2.0 * static_cast<double>(c.size()) * static_cast<double>(a.dim(trans_a ? -2 : -1));
  const bool to_a = detail::recording_any({&a}), to_b = detail::recording_any({&b});
  c.device().count_flops(flops * (1 + (to_a ? 1 : 0) + (to_b ? 1 : 0)));
  record(kMatmul, {a, b}, c, {a, b}, Transposed{trans_a, trans_b});
  return c;
}

Tensor ops::linear(const Tensor& input, const Tensor& weights, const Tensor& bias, Activation act) {
  const Tensor x = detail::operand("linear", "x", input);
  const Tensor w = detail::operand_beside("linear", "w", weights, x);
  const Tensor b = detail::optional_operand("linear", "b", bias, x);
  const bool fits = w.rank() == 2 && x.rank() >= 1 && x.dim(-1) == w.dim(0) &&
                    (!b.defined() || b.shape() == Shape{w.dim(1)});
  if (!fits) {
    detail::wrong("linear", "x [.., in], w [in, out] and b [out]", detail::shapes({&x, &w, &b}));
  }
  if (act >= Activation::geglu) throw Error("[linear] gated activations do not fit here");
  Device& device = x.device();
  Shape shape = x.shape();
  shape.set(-1, w.dim(1));
  const bool records = detail::recording_any({&x, &w, &b});
  const auto compute = [&]() -> detail::SavingActivations::Activated {
    const Tensor out = Tensor::empty(device, shape);
    const Tensor before =
        records && detail::needs_input(act) ? Tensor::empty(device, shape) : Tensor();
    const tv_linear args = linear_arguments(x, w, b, out, before, act);
    if (!device.try_kernel("linear_fwd", &tv_backend::linear_fwd, &args)) return {};
    return {out, before};
  };
  const detail::KeptOp op{"linear", detail::KeptOp::Kind::product, detail::on_tape(records)};
  auto [y, pre] = detail::SavingActivations::kept(op, act, compute);
  if (!y.defined()) return composed_linear(x, w, b, act);
  const double flops = 2.0 * static_cast<double>(y.size()) * static_cast<double>(w.dim(0));
  device.count_flops(
      flops * (1 + (detail::recording_any({&x}) ? 1 : 0) + (detail::recording_any({&w}) ? 1 : 0)));
  if (records) {
    const Tensor kept = act == Activation::none ? Tensor() : pre.defined() ? pre : y;
    record(kLinear, {x, w, b}, y, {x, w, kept}, Linear{act, b.defined()});
  }
  return y;
}

}  // namespace trivet
