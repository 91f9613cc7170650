// SPDX-License-Identifier: Apache-2.0
// BatchNorm: y = activation((x - mean) / sqrt(variance + epsilon) * gamma + beta), per channel of
// the last axis (Ioffe and Szegedy 2015). x [.., dim], e.g. images [B, H, W, C].
//
// In training mean and (biased) variance are those of the batch over all other axes, and the states
// "moving_mean" (from 0) and "moving_variance" (from 1) follow them:
//   moving = momentum * moving + (1 - momentum) * batch
// Evaluation uses the states. Parameters "gamma" [dim], from 1 unless set, and "beta" [dim], from
// 0. As Keras' and Praxis'; momentum and epsilon are Model Garden's. Both keep the biased variance,
// where PyTorch keeps the unbiased one. Where the context has paddings [B, T] and x is [B, T, dim],
// padded positions do not count, as in Praxis.
//
// With `use_moving_avg_in_training`, training normalizes by the states, too, as they are after
// this batch, so that training and evaluation compute one function. Gradients flow through the
// batch's share of them, 1 - momentum. Praxis then has neither gamma nor beta: use_scale = false,
// use_bias = false. Rematerialization is exact if the layer is called once a step.
#pragma once

#include <optional>
#include <string>

#include "trivet/layer.h"
#include "trivet/ops.h"

namespace trivet::nn {

struct BatchNormConfig : LayerConfig {
  std::int64_t dim = 0;
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool use_scale = true;
  bool use_bias = true;
  bool use_moving_avg_in_training = false;
  ConfigOf<Layer> activation;
  InitConfig scale_init;
};
TRIVET_CONFIG(
    BatchNormConfig, trivet::LayerConfig, (dim, "Channels of the input.", required, at_least(1)),
    (momentum, "Share of the old moving average that is kept.", between(0, 1), adjustable),
    (epsilon, "Constant added to the variance.", more_than(0)),
    (use_scale, "Multiplies by a learned gamma."), (use_bias, "Adds a learned beta."),
    (use_moving_avg_in_training, "Normalizes by the moving averages in training, too."),
    (activation, "Activation of the output."), (scale_init, "Initializer of gamma. Default: 1."))

class BatchNorm final : public Layer {
 public:
  using Config = BatchNormConfig;
  BatchNorm(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  Tensor normalized(const Tensor& x, const FpropContext& context);
  Tensor normalized_by_batch(const Tensor& x, const FpropContext& context);
  // `counted` [rows, 1], or undefined if all rows count.
  Tensor normalized_by_rows(const Tensor& rows, const Tensor& counted, const FpropContext& context);
  Tensor normalized_by_moving(const Tensor& x) const;
  Tensor scaled(const Tensor& centered, const Tensor& variance) const;
  void follow(Parameter& moving, const Tensor& batch, const FpropContext& context);
  // The state's values, with the gradient of the batch's share in them.
  Tensor followed(const Parameter& moving, const Tensor& batch) const;

  std::string path_;
  std::int64_t dim_;
  float momentum_, epsilon_;
  bool moving_in_training_;
  Parameter *gamma_, *beta_;  // null if not used
  Parameter &moving_mean_, &moving_variance_;
  std::shared_ptr<Layer> activation_;
  std::optional<Activation> fused_;  // empty: activation_ is not fused
};

}  // namespace trivet::nn
