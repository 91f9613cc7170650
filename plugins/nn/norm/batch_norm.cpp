// SPDX-License-Identifier: Apache-2.0
#include "nn/norm/batch_norm.h"

#include "nn/basic/checks.h"
#include "trivet/extensions/activation.h"
#include "trivet/ops/ops_norm.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

// 1 for every row of x [.., dim] that counts, [rows, 1]; undefined if all count.
Tensor counted_rows(const Tensor& x, const Tensor& paddings) {
  const bool fits = paddings.defined() && x.rank() == 3 && paddings.rank() == 2 &&
                    paddings.dim(0) == x.dim(0) && paddings.dim(1) == x.dim(1);
  if (!fits) return {};
  NoGrad no_grad;
  return ops::reshape(ops::add(ops::neg(paddings), 1), {paddings.size(), 1});
}

// Mean over the counted rows of [rows, dim] -> [dim]; 0 if no row counts.
Tensor mean_of(const Tensor& rows, const Tensor& counted) {
  if (!counted.defined()) return ops::mean(rows, 0);
  const Tensor count = ops::max(ops::sum(counted), Tensor::scalar(rows.device(), 1));
  return ops::div(ops::sum(ops::mul(rows, counted), 0), count);
}

Tensor value_of(const Parameter* parameter) {
  return parameter != nullptr ? parameter->value() : Tensor();
}

}  // namespace

BatchNorm::BatchNorm(const Config& config, Scope& scope)
    : path_(scope.path()),
      dim_(config.dim),
      momentum_(static_cast<float>(config.momentum)),
      epsilon_(static_cast<float>(config.epsilon)),
      moving_in_training_(config.use_moving_avg_in_training),
      gamma_(config.use_scale
                 ? &scope.parameter("gamma", {config.dim},
                                    {.init = config.scale_init, .fallback = {Init::constant, 1}})
                 : nullptr),
      beta_(config.use_bias ? &scope.parameter("beta", {config.dim}, {.init = {Init::constant, 0}})
                            : nullptr),
      moving_mean_(scope.state("moving_mean", {config.dim}, 0)),
      moving_variance_(scope.state("moving_variance", {config.dim}, 1)),
      activation_(scope.layer("activation", config.activation)),
      fused_(plain_activation(activation_.get())) {}

void BatchNorm::follow(Parameter& moving, const Tensor& batch, const FpropContext& context) {
  if (context.recomputing) return;
  NoGrad no_grad;
  moving.assign(ops::add(ops::mul(moving.value(), momentum_), ops::mul(batch, 1 - momentum_)));
}

Tensor BatchNorm::followed(const Parameter& moving, const Tensor& batch) const {
  // The added term is 0. Recomputed, the state holds this batch already, so nothing else changes.
  const Tensor share = ops::mul(ops::sub(batch, ops::stop_gradient(batch)), 1 - momentum_);
  return ops::add(share, moving.value());
}

// centered / sqrt(variance + epsilon) * gamma + beta, with the activation if it is fused.
Tensor BatchNorm::scaled(const Tensor& centered, const Tensor& variance) const {
  Tensor factor = ops::rsqrt(ops::add(variance, epsilon_));
  if (gamma_ != nullptr) factor = ops::mul(factor, gamma_->value());
  Tensor y = ops::mul(centered, factor);
  if (beta_ != nullptr) y = ops::add(y, beta_->value());
  const Activation act = fused_.value_or(Activation::none);
  return act == Activation::none ? y : ops::activation(y, act);
}

Tensor BatchNorm::normalized_by_batch(const Tensor& x, const FpropContext& context) {
  const BatchNormResult out = ops::batch_norm(x, value_of(gamma_), value_of(beta_), epsilon_,
                                              fused_.value_or(Activation::none));
  follow(moving_mean_, out.mean, context);
  follow(moving_variance_, out.variance, context);
  return out.y;
}

Tensor BatchNorm::normalized_by_rows(const Tensor& rows, const Tensor& counted,
                                     const FpropContext& context) {
  const Tensor mean = mean_of(rows, counted);
  const Tensor centered = ops::sub(rows, mean);
  const Tensor variance = mean_of(ops::square(centered), counted);
  follow(moving_mean_, mean, context);
  follow(moving_variance_, variance, context);
  if (!moving_in_training_) return scaled(centered, variance);
  return scaled(ops::sub(rows, followed(moving_mean_, mean)), followed(moving_variance_, variance));
}

Tensor BatchNorm::normalized_by_moving(const Tensor& x) const {
  return scaled(ops::sub(x, moving_mean_.value()), moving_variance_.value());
}

Tensor BatchNorm::normalized(const Tensor& x, const FpropContext& context) {
  if (!context.train) return normalized_by_moving(x);
  const Tensor counted = counted_rows(x, context.paddings);
  if (!counted.defined() && !moving_in_training_) return normalized_by_batch(x, context);
  const Tensor rows = ops::reshape(x, {x.size() / dim_, dim_});
  return ops::reshape(normalized_by_rows(rows, counted, context), x.shape());
}

Tensor BatchNorm::fprop(const Tensor& x, FpropContext& context) {
  expect_last("nn/BatchNorm", path_, x, dim_);
  const Tensor y = normalized(x, context);
  return fused_ ? y : activation_->fprop(y, context);
}

}  // namespace trivet::nn
