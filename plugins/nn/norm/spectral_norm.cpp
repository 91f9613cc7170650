// SPDX-License-Identifier: Apache-2.0
#include "nn/norm/spectral_norm.h"

#include "nn/basic/checks.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

constexpr float kLeast = 1e-12F;

Tensor unit(const Tensor& x) {
  return ops::mul(x, ops::rsqrt(ops::add(ops::sum(ops::square(x)), kLeast)));
}

}  // namespace

SpectralNorm::SpectralNorm(const Config& config, Scope& scope)
    : path_(scope.path()),
      dim_(expect_set("nn/SpectralNorm", path_, "dim", config.dim)),
      iterations_(config.n_power_iteration),
      u_(scope.parameter("u", {dim_}, {.init = {Init::normal, 1}, .trainable = false})),
      u_before_(scope.state("u_before", {dim_}, 0)) {}

Tensor SpectralNorm::fprop(const Tensor& weights, FpropContext& context) {
  expect_last("nn/SpectralNorm", path_, weights, dim_);
  const Tensor w = ops::reshape(weights, {weights.size() / dim_, dim_});
  Tensor u, v;
  {
    NoGrad no_grad;
    const Parameter& start = context.recomputing ? u_before_ : u_;
    u = ops::reshape(start.value(), {dim_, 1});
    for (std::int64_t i = 0; i < iterations_; ++i) {
      v = unit(ops::matmul(w, u));
      u = unit(ops::matmul(w, v, {.transpose_a = true}));
    }
    if (context.train && !context.recomputing) {
      u_before_.assign(u_.value());
      u_.assign(ops::reshape(u, {dim_}));
    }
  }
  const Tensor sigma = ops::sum(ops::mul(ops::matmul(w, u), v));
  return ops::div(weights, ops::max(sigma, Tensor::scalar(weights.device(), kLeast)));
}

}  // namespace trivet::nn
