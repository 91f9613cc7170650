// SPDX-License-Identifier: Apache-2.0
// Layer norm and RMS norm over the last axis.
#include "ops/op_support.h"

namespace trivet {
namespace {

struct Norm {
  tv_norm_kind kind;
  float epsilon;
  bool gamma, beta;
};

Tensor composed(const Tensor& x, const Tensor& gamma, const Tensor& beta, tv_norm_kind kind,
                float epsilon) {
  const Tensor centered =
      kind == TV_LAYER_NORM ? ops::sub(x, ops::mean(x, -1, {.keep_dims = true})) : x;
  const Tensor power = ops::mean(ops::square(centered), -1, {.keep_dims = true});
  Tensor y = ops::mul(centered, ops::rsqrt(ops::add(power, epsilon)));
  if (gamma.defined()) y = ops::mul(y, gamma);
  return beta.defined() ? ops::add(y, beta) : y;
}

// From what the kernel saved; x^ = (x - mean) rstd, g = dy gamma:
// dx = rstd (g - mean(g) - x^ mean(g x^)), without mean(g) for RMS norm.
Tensor composed_gradient(Vjp& v, tv_norm_kind kind, const Vjp::Target& dgamma,
                         const Vjp::Target& dbeta) {
  const Shape& shape = v.saved(0).shape();
  const std::int64_t n = shape[-1], rows = v.saved(2).size();
  const Tensor x = detail::reshaped(v.saved(0), {rows, n});
  const Tensor dy = detail::reshaped(v.grad_output(), {rows, n});
  const Tensor mean = detail::reshaped(v.saved(2), {rows, 1});
  const Tensor rstd = detail::reshaped(v.saved(3), {rows, 1});
  const bool centered = kind == TV_LAYER_NORM;
  const Tensor unit = ops::mul(centered ? ops::sub(x, mean) : x, rstd);
  const Tensor g = v.saved(1).defined() ? ops::mul(dy, v.saved(1)) : dy;
  Tensor dx = ops::sub(g, ops::mul(unit, ops::mean(ops::mul(g, unit), 1, {.keep_dims = true})));
  if (centered) dx = ops::sub(dx, ops::mean(g, 1, {.keep_dims = true}));
  if (dgamma.gradient.defined()) detail::accumulate(dgamma, ops::sum(ops::mul(dy, unit), 0));
  if (dbeta.gradient.defined()) detail::accumulate(dbeta, ops::sum(dy, 0));
  return detail::reshaped(ops::mul(dx, rstd), shape);
}

void norm_vjp(Vjp& v) {
  const Norm& a = v.attributes<Norm>();
  const Tensor &x = v.saved(0), &gamma = v.saved(1);
  const Tensor& dy = v.grad_output();
  Device& device = dy.device();
  const Tensor dx = Tensor::empty(device, x.shape());
  const Vjp::Target dgamma = v.wants(1) ? v.target(1) : Vjp::Target{{}, 0};
  const Vjp::Target dbeta = v.wants(2) ? v.target(2) : Vjp::Target{{}, 0};
  tv_norm_grad args{};
  args.struct_size = sizeof args;
  args.dtype = TV_F32;
  args.kind = static_cast<std::uint8_t>(a.kind);
  args.n = x.dim(-1);
  args.rows = args.n > 0 ? x.size() / args.n : 0;
  args.x = detail::memory(x);
  args.gamma = detail::memory_or_null(gamma);
  args.dy = detail::memory(dy);
  args.mean = static_cast<const float*>(detail::memory(v.saved(2)));
  args.rstd = static_cast<const float*>(detail::memory(v.saved(3)));
  args.dx = detail::memory(dx);
  args.dgamma = detail::memory_or_null(dgamma.gradient);
  args.dbeta = detail::memory_or_null(dbeta.gradient);
  args.beta_dgamma = dgamma.beta;
  args.beta_dbeta = dbeta.beta;
  if (!device.try_kernel("norm_bwd", &tv_backend::norm_bwd, &args)) {
    return v.add(0, composed_gradient(v, a.kind, dgamma, dbeta));
  }
  v.add(0, dx);
}
constexpr OpDef kNorm{"norm", norm_vjp};

Tensor norm(const char* name, const Tensor& input, const Tensor& given_gamma,
            const Tensor& given_beta, tv_norm_kind kind, float epsilon) {
  const Tensor x = detail::operand(name, "x", input);
  const Tensor gamma = detail::optional_operand(name, "gamma", given_gamma, x);
  const Tensor beta = detail::optional_operand(name, "beta", given_beta, x);
  const auto fits = [&](const Tensor& p) { return !p.defined() || p.shape() == Shape{x.dim(-1)}; };
  if (x.rank() < 1 || !fits(gamma) || !fits(beta)) {
    detail::wrong(name, "x [.., n], gamma and beta [n]", detail::shapes({&x, &gamma, &beta}));
  }
  Device& device = x.device();
  const std::int64_t n = x.dim(-1), rows = n > 0 ? x.size() / n : 0;
  Tensor y = Tensor::empty(device, x.shape());
  Tensor mean = Tensor::empty(device, {rows}), rstd = Tensor::empty(device, {rows});
  tv_norm args{};
  args.struct_size = sizeof args;
  args.dtype = TV_F32;
  args.kind = static_cast<std::uint8_t>(kind);
  args.rows = rows;
  args.n = n;
  args.epsilon = epsilon;
  args.x = detail::memory(x);
  args.gamma = detail::memory_or_null(gamma);
  args.beta = detail::memory_or_null(beta);
  args.y = detail::memory(y);
  args.mean = static_cast<float*>(detail::memory(mean));
  args.rstd = static_cast<float*>(detail::memory(rstd));
  if (!device.try_kernel("norm_fwd", &tv_backend::norm_fwd, &args)) {
    y = mean = rstd = {};
    return composed(x, gamma, beta, kind, epsilon);
  }
  record(kNorm, {x, gamma, beta}, y, {x, gamma, mean, rstd},
         Norm{kind, epsilon, gamma.defined(), beta.defined()});
  return y;
}

}  // namespace

Tensor ops::layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon) {
  return norm("layer_norm", x, gamma, beta, TV_LAYER_NORM, epsilon);
}

Tensor ops::rms_norm(const Tensor& x, const Tensor& gamma, float epsilon) {
  return norm("rms_norm", x, gamma, {}, TV_RMS_NORM, epsilon);
}

}  // namespace trivet
