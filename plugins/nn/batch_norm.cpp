// SPDX-License-Identifier: Apache-2.0
#include "batch_norm.h"

#include "checks.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

// 1 for every row of x [.., dim] that counts, [rows, 1]; undefined when all do.
Tensor counted_rows(const Tensor& x, const Tensor& paddings) {
  const bool fits = paddings.defined() && x.rank() == 3 && paddings.rank() == 2 &&
                    paddings.dim(0) == x.dim(0) && paddings.dim(1) == x.dim(1);
  if (!fits) return {};
  NoGrad no_grad;
  return ops::reshape(ops::add(ops::neg(paddings), 1), {paddings.size(), 1});
}

// Mean over the rows [rows, dim] -> [dim]; over no row at all it is 0.
Tensor mean_of(const Tensor& rows, const Tensor& counted) {
  if (!counted.defined()) return ops::mean(rows, 0);
  const Tensor count = ops::max(ops::sum(counted), Tensor::scalar(rows.device(), 1));
  return ops::div(ops::sum(ops::mul(rows, counted), 0), count);
}

}  // namespace

BatchNorm::BatchNorm(const Config& config, Scope& scope)
    : path_(scope.path()),
      dim_(config.dim),
      momentum_(static_cast<float>(config.momentum)),
      epsilon_(static_cast<float>(config.epsilon)),
      gamma_(config.use_scale
                 ? &scope.parameter("gamma", {config.dim}, {.init = {Init::constant, 1}})
                 : nullptr),
      beta_(config.use_bias ? &scope.parameter("beta", {config.dim}, {.init = {Init::constant, 0}})
                            : nullptr),
      moving_mean_(scope.state("moving_mean", {config.dim}, 0)),
      moving_variance_(scope.state("moving_variance", {config.dim}, 1)) {}

void BatchNorm::follow(Parameter& moving, const Tensor& batch) {
  NoGrad no_grad;
  moving.assign(ops::add(ops::mul(moving.value(), momentum_), ops::mul(batch, 1 - momentum_)));
}

Tensor BatchNorm::normalize_by_batch(const Tensor& rows, const Tensor& counted) {
  const Tensor mean = mean_of(rows, counted);
  const Tensor centered = ops::sub(rows, mean);
  const Tensor variance = mean_of(ops::square(centered), counted);
  follow(moving_mean_, mean);
  follow(moving_variance_, variance);
  Tensor factor = ops::rsqrt(ops::add(variance, epsilon_));
  if (gamma_ != nullptr) factor = ops::mul(factor, gamma_->value());
  const Tensor y = ops::mul(centered, factor);
  return beta_ != nullptr ? ops::add(y, beta_->value()) : y;
}

Tensor BatchNorm::fprop(const Tensor& x, FpropContext& context) {
  expect_last("nn/BatchNorm", path_, x, dim_);
  if (context.train) {
    const Tensor rows = ops::reshape(x, {x.size() / dim_, dim_});
    const Tensor y = normalize_by_batch(rows, counted_rows(x, context.paddings));
    return ops::reshape(y, x.shape());
  }
  Tensor factor = ops::rsqrt(ops::add(moving_variance_.value(), epsilon_));
  if (gamma_ != nullptr) factor = ops::mul(factor, gamma_->value());
  const Tensor y = ops::mul(ops::sub(x, moving_mean_.value()), factor);
  return beta_ != nullptr ? ops::add(y, beta_->value()) : y;
}

}  // namespace trivet::nn
