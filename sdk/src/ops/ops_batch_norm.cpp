// SPDX-License-Identifier: Apache-2.0
// Batch norm: the backend's kernels where it has them, sums and elementwise ops otherwise.
#include "ops/op_support.h"
#include "trivet/backend/kernels/norm.h"
#include "trivet/ops/ops_norm.h"
#include "trivet/tensor/device.h"

namespace trivet {
namespace {

struct Attributes {
  Activation activation;
  float epsilon;
  bool gamma, beta;
};

// Activations that kernels compute; others follow as a separate op.
bool is_fused(Activation act) {
  return act == Activation::none || act == Activation::relu;
}

BatchNormResult composed(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon) {
  const std::int64_t n = x.dim(-1);
  const Tensor rows = ops::reshape(x, {n > 0 ? x.size() / n : 0, n});
  const Tensor mean = ops::mean(rows, 0);
  const Tensor centered = ops::sub(rows, mean);
  const Tensor variance = ops::mean(ops::square(centered), 0);
  Tensor factor = ops::rsqrt(ops::add(variance, epsilon));
  if (gamma.defined()) factor = ops::mul(factor, gamma);
  Tensor y = ops::mul(centered, factor);
  if (beta.defined()) y = ops::add(y, beta);
  return {ops::reshape(y, x.shape()), ops::stop_gradient(mean), ops::stop_gradient(variance)};
}

// From what the kernel saved; x^ = (x - mean) rstd, g = dy act'(y):
// dx = gamma rstd (g - mean(g) - x^ mean(g x^)), all means over the rows.
Tensor composed_gradient(Vjp& v, const Attributes& a, const Vjp::Target& dgamma,
                         const Vjp::Target& dbeta) {
  const Tensor &x = v.saved(0), &gamma = v.saved(1), &mean = v.saved(2);
  const std::int64_t n = mean.size();
  const Shape flat{n > 0 ? x.size() / n : 0, n};
  const Tensor dy = detail::activation_gradient(a.activation, v.saved(4), v.grad_output());
  const Tensor g = detail::reshaped(dy, flat);
  const Tensor rstd = ops::rsqrt(ops::add(v.saved(3), a.epsilon));
  const Tensor unit = ops::mul(ops::sub(detail::reshaped(x, flat), mean), rstd);
  if (dgamma.gradient.defined()) detail::accumulate(dgamma, ops::sum(ops::mul(g, unit), 0));
  if (dbeta.gradient.defined()) detail::accumulate(dbeta, ops::sum(g, 0));
  const Tensor along = ops::mul(unit, ops::mean(ops::mul(g, unit), 0));
  const Tensor dx = ops::sub(ops::sub(g, ops::mean(g, 0)), along);
  const Tensor factor = gamma.defined() ? ops::mul(rstd, gamma) : rstd;
  return detail::reshaped(ops::mul(dx, factor), x.shape());
}

// Saved: x, gamma, mean, variance, y (where the activation needs it).
void batch_norm_vjp(Vjp& v) {
  const auto& a = v.attributes<Attributes>();
  const Tensor& x = v.saved(0);
  const Tensor& dy = v.grad_output();
  Device& device = dy.device();
  const bool in_place = v.may_overwrite_grad_output();
  const Tensor dx = !v.wants(0) ? Tensor() : in_place ? dy : Tensor::empty(device, x.shape());
  const Vjp::Target dgamma = a.gamma && v.wants(1) ? v.target(1) : Vjp::Target{{}, 0};
  const Vjp::Target dbeta = a.beta && v.wants(2) ? v.target(2) : Vjp::Target{{}, 0};
  tv_batch_norm_grad args{};
  args.struct_size = sizeof args;
  args.dtype = TV_F32;
  args.activation = static_cast<std::uint8_t>(a.activation);
  args.n = x.dim(-1);
  args.rows = args.n > 0 ? x.size() / args.n : 0;
  args.epsilon = a.epsilon;
  args.x = detail::memory(x);
  args.gamma = detail::memory_or_null(v.saved(1));
  args.y = detail::memory_or_null(v.saved(4));
  args.dy = detail::memory(dy);
  args.mean = static_cast<const float*>(detail::memory(v.saved(2)));
  args.variance = static_cast<const float*>(detail::memory(v.saved(3)));
  args.dx = detail::memory_or_null(dx);
  args.dgamma = detail::memory_or_null(dgamma.gradient);
  args.dbeta = detail::memory_or_null(dbeta.gradient);
  args.beta_dgamma = dgamma.beta;
  args.beta_dbeta = dbeta.beta;
  if (!device.try_extension<tv_batch_norm_bwd_fn>(TV_BATCH_NORM_BWD, &args)) {
    const Tensor gradient = composed_gradient(v, a, dgamma, dbeta);
    if (dx.defined()) v.add(0, gradient);
    return;
  }
  if (dx.defined()) v.add(0, dx);
}
constexpr OpDef kBatchNorm{"batch_norm", batch_norm_vjp};

// y is undefined when the backend has no kernel for this.
BatchNormResult by_kernel(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon,
                          Activation act) {
  Device& device = x.device();
  const std::int64_t n = x.dim(-1);
  BatchNormResult out{Tensor::empty(device, x.shape()), Tensor::empty(device, {n}),
                      Tensor::empty(device, {n})};
  tv_batch_norm args{};
  args.struct_size = sizeof args;
  args.dtype = TV_F32;
  args.activation = static_cast<std::uint8_t>(act);
  args.rows = n > 0 ? x.size() / n : 0;
  args.n = n;
  args.epsilon = epsilon;
  args.x = detail::memory(x);
  args.gamma = detail::memory_or_null(gamma);
  args.beta = detail::memory_or_null(beta);
  args.y = detail::memory(out.y);
  args.mean = static_cast<float*>(detail::memory(out.mean));
  args.variance = static_cast<float*>(detail::memory(out.variance));
  if (!device.try_extension<tv_batch_norm_fwd_fn>(TV_BATCH_NORM_FWD, &args)) return {};
  if (!detail::recording_any({&x, &gamma, &beta})) return out;
  // The output may be saved only as another header: it is about to get its position on the tape.
  const Tensor kept = act == Activation::none ? Tensor() : ops::stop_gradient(out.y);
  record(kBatchNorm, {x, gamma, beta}, out.y, {x, gamma, out.mean, out.variance, kept},
         Attributes{act, epsilon, gamma.defined(), beta.defined()});
  return out;
}

}  // namespace

BatchNormResult ops::batch_norm(const Tensor& input, const Tensor& given_gamma,
                                const Tensor& given_beta, float epsilon, Activation act) {
  const Tensor x = detail::operand("batch_norm", "x", input);
  const Tensor gamma = detail::optional_operand("batch_norm", "gamma", given_gamma, x);
  const Tensor beta = detail::optional_operand("batch_norm", "beta", given_beta, x);
  if (act >= Activation::geglu) throw Error("[batch_norm] gated activations do not fit here");
  const auto fits = [&](const Tensor& p) { return !p.defined() || p.shape() == Shape{x.dim(-1)}; };
  if (x.rank() < 1 || !fits(gamma) || !fits(beta)) {
    detail::wrong("batch_norm", "x [.., n], gamma and beta [n]",
                  detail::shapes({&x, &gamma, &beta}));
  }
  BatchNormResult out = by_kernel(x, gamma, beta, epsilon, is_fused(act) ? act : Activation::none);
  if (out.y.defined()) {
    if (!is_fused(act)) out.y = activation(out.y, act);
    return out;
  }
  out = composed(x, gamma, beta, epsilon);
  if (act != Activation::none) out.y = activation(out.y, act);
  return out;
}

}  // namespace trivet
