// SPDX-License-Identifier: Apache-2.0
#include "nn/basic/bregman_pca.h"

#include <cmath>

#include "nn/basic/checks.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

constexpr float kLeast = 1e-6F;  // Praxis': of logarithms and of gradients' lengths

Tensor not_below(const Tensor& x, float bound) {
  return ops::max(x, Tensor::scalar(x.device(), bound));
}

// g sqrt(size) / max(|g|, kLeast)
Tensor sized(const Tensor& g) {
  const Tensor length = not_below(ops::sqrt(ops::sum(ops::square(g))), kLeast);
  return ops::div(ops::mul(g, std::sqrt(static_cast<float>(g.size()))), length);
}

// x where it is above 0, else slope x.
Tensor leaky(const Tensor& x, float slope) {
  const Tensor zero = Tensor::scalar(x.device(), 0);
  return ops::add(ops::max(x, zero), ops::mul(ops::min(x, zero), slope));
}

Tensor mixed(const Tensor& old, const Tensor& now, double beta) {
  return ops::add(ops::mul(old, static_cast<float>(beta)),
                  ops::mul(now, static_cast<float>(1 - beta)));
}

}  // namespace

void BregmanPcaConfig::validate(Diagnostics& diagnostics) const {
  if (start_step < end_step) return;
  diagnostics.add("end_step", "is not after start_step = " + std::to_string(start_step),
                  "the components are learned from start_step to end_step");
}

BregmanPca::BregmanPca(const Config& config, Scope& scope)
    : path_(scope.path()),
      config_(config),
      mean_(scope.state("mean", {config.input_dims}, 0)),
      components_(scope.parameter("components", {config.num_components, config.input_dims},
                                  {.init = {Init::xavier_uniform, 1}, .trainable = false})),
      components_momentum_(
          scope.state("components_momentum", {config.num_components, config.input_dims}, 0)) {}

Tensor BregmanPca::activated(const Tensor& z, std::int64_t last) const {
  switch (config_.activation) {
    case BregmanActivation::identity:
      return z;
    case BregmanActivation::leaky_relu:
      return leaky(z, static_cast<float>(config_.negative_slope));
    case BregmanActivation::softmax:
      break;
  }
  return ops::reshape(ops::softmax(ops::reshape(z, {z.size() / last, last})), z.shape());
}

Tensor BregmanPca::inverse(const Tensor& x, std::int64_t last) const {
  switch (config_.activation) {
    case BregmanActivation::identity:
      return x;
    case BregmanActivation::leaky_relu:
      return leaky(x, static_cast<float>(1 / config_.negative_slope));
    case BregmanActivation::softmax:
      break;
  }
  const Tensor logs = ops::log(not_below(ops::reshape(x, {x.size() / last, last}), kLeast));
  const Tensor centered = ops::sub(logs, ops::mean(logs, 1, {.keep_dims = true}));
  return ops::reshape(centered, x.shape());
}

Tensor BregmanPca::divergence(const Tensor& x, const Tensor& z, std::int64_t last) const {
  if (config_.activation == BregmanActivation::softmax) {
    const Shape rows{x.size() / last, last};
    const Tensor shares = ops::reshape(x, rows);
    const Tensor logs = ops::log(not_below(shares, kLeast));
    const Tensor differences = ops::sub(logs, ops::log_softmax(ops::reshape(z, rows)));
    return ops::mean(ops::sum(ops::mul(shares, differences), 1));
  }
  // F(z) - F(z*) - x (z - z*) with z* = f^-1(x), where F(z) = z f(z) / 2.
  const Tensor best = inverse(x, last);
  const Tensor integrals = ops::sub(ops::mul(z, activated(z, last)), ops::mul(best, x));
  const Tensor each = ops::sub(ops::mul(integrals, 0.5F), ops::mul(x, ops::sub(z, best)));
  return ops::mean(ops::sum(each, 1));
}

Tensor BregmanPca::sums(const Tensor& coefficients) const {
  return ops::add(ops::matmul(coefficients, components_.value()), mean_.value());
}

Tensor BregmanPca::coefficients_of(const Tensor& x, std::int64_t last) const {
  const std::int64_t steps = config_.coefficients_steps;
  Tensor c = Tensor::zeros(x.device(), {x.dim(0), config_.num_components}), momentum = c;
  const float scale = 1 / static_cast<float>(x.dim(0));
  for (std::int64_t k = 0; k < steps; ++k) {
    const Tensor error = ops::mul(ops::sub(activated(sums(c), last), x), scale);
    const Tensor g = ops::matmul(error, components_.value(), {.transpose_b = true});
    momentum = mixed(momentum, sized(g), config_.coefficients_beta);
    const double rate = 1 - static_cast<double>(k) / static_cast<double>(steps);
    c = ops::sub(c, ops::mul(momentum, static_cast<float>(rate * config_.coefficients_lr)));
  }
  return c;
}

void BregmanPca::learn(const Tensor& x, const Tensor& coefficients, std::int64_t last,
                       std::int64_t step) {
  const Tensor error =
      ops::mul(ops::sub(activated(sums(coefficients), last), x), 1 / static_cast<float>(x.dim(0)));
  const Tensor g = ops::matmul(coefficients, error, {.transpose_a = true});
  components_momentum_.assign(
      mixed(components_momentum_.value(), sized(g), config_.components_beta));
  double rate = config_.components_lr;
  if (!config_.constant_lr_schedule) {
    rate *= 1 - static_cast<double>(step - config_.start_step) /
                    static_cast<double>(config_.end_step - config_.start_step);
  }
  components_.assign(ops::sub(components_.value(),
                              ops::mul(components_momentum_.value(), static_cast<float>(rate))));
}

Tensor BregmanPca::fprop(const Tensor& x, FpropContext& context) {
  if (x.rank() < 2 || (x.dim(0) > 0 && x.size() / x.dim(0) != config_.input_dims)) {
    wrong_input("nn/BregmanPca", path_,
                "[B, ..] with " + std::to_string(config_.input_dims) + " numbers an example", x);
  }
  NoGrad no_grad;
  const std::int64_t last = x.dim(-1);
  const bool learns = context.train && !context.recomputing && context.step >= config_.start_step &&
                      context.step < config_.end_step && x.dim(0) > 0;
  const Tensor rows = ops::reshape(ops::stop_gradient(x), {x.dim(0), config_.input_dims});
  if (learns) {
    const Tensor center = ops::reshape(ops::mean(rows, 0), {1, config_.input_dims});
    const Tensor pulled = ops::reshape(inverse(center, last), {config_.input_dims});
    mean_.assign(mixed(mean_.value(), pulled, config_.mean_beta));
  }
  const Tensor coefficients = coefficients_of(rows, last);
  if (learns) learn(rows, coefficients, last, context.step);
  if (context.summaries.wanted()) {
    context.summaries.scalar(path_ + "/bregman_loss", divergence(rows, sums(coefficients), last));
  }
  if (config_.output == BregmanOutput::coefficients) return coefficients;
  if (config_.output == BregmanOutput::reconstruction) {
    return ops::reshape(activated(sums(coefficients), last), x.shape());
  }
  return x;
}

}  // namespace trivet::nn
