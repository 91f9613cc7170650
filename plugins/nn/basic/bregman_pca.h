// SPDX-License-Identifier: Apache-2.0
// BregmanPca: learns a compression of its input beside the training (Collins et al. 2001, "A
// Generalization of Principal Component Analysis to the Exponential Family"), as Praxis'
// BregmanPCA. An example x of input_dims numbers, x [B, ..], is approximated by
//
//   f(z),  z = c components + mean,  c of num_components coefficients,
//
// so that the Bregman divergence of f's integral, D(x, z), is small. With the `activation`
//   identity:   f(z) = z,                                    D = |z - x|^2 / 2;
//   leaky_relu: f(z) = z where z > 0, else negative_slope z, D = its matching loss;
//   softmax:    f over the last axis of x,                   D = KL(x, f(z)).
// The gradient of D by z is f(z) - x for all of them.
//
// Each call finds c by coefficients_steps steps from c = 0, where <g> = g sqrt(size) / max(|g|,
// 1e-6) is a gradient of a fixed size, and k = 0, 1, ... the step:
//   m = coefficients_beta m + (1 - coefficients_beta) <dD/dc>
//   c = c - (1 - k / coefficients_steps) coefficients_lr m
// A training step s with start_step <= s < end_step then moves the states, first
//   mean = mean_beta mean + (1 - mean_beta) f^-1(mean of x over the batch)
// before c is sought, and after it
//   components_momentum = components_beta components_momentum + (1 - components_beta) <dD/dw>
//   components = components - lr components_lr components_momentum
// with lr = 1, or, without constant_lr_schedule, 1 - (s - start_step) / (end_step - start_step).
// (Praxis loses components_momentum after each step, so its components move only by 1 -
// components_beta of the last gradient. Its steps are the layer's calls.)
//
// `output` is what the layer gives: its inputs, unchanged and with their gradient; or the
// coefficients [B, num_components] or the reconstruction f(z) [B, ..], without a gradient. The
// divergence, mean over the batch (softmax: over the rows), is the summary "bregman_loss".
//
// States "mean" [input_dims], zeros, "components" [num_components, input_dims], xavier_uniform,
// "components_momentum", zeros.
#pragma once

#include <string>

#include "trivet/layer.h"

namespace trivet::nn {

enum class BregmanActivation { identity, leaky_relu, softmax };
TRIVET_ENUM(BregmanActivation, identity, leaky_relu, softmax)
enum class BregmanOutput { inputs, coefficients, reconstruction };
TRIVET_ENUM(BregmanOutput, inputs, coefficients, reconstruction)

struct BregmanPcaConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t num_components = 0;
  BregmanActivation activation = BregmanActivation::identity;
  double negative_slope = 0.01;
  BregmanOutput output = BregmanOutput::inputs;
  double mean_beta = 0.99;
  double coefficients_lr = 0.01;
  double coefficients_beta = 0.9;
  std::int64_t coefficients_steps = 20;
  double components_lr = 0.01;
  double components_beta = 0.9;
  std::int64_t start_step = 0;
  std::int64_t end_step = 0;
  bool constant_lr_schedule = true;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    BregmanPcaConfig, trivet::LayerConfig,
    (input_dims, "Numbers of an example, all axes but the first together.", required, at_least(1)),
    (num_components, "Coefficients of an example.", required, at_least(1)),
    (activation, "Makes numbers like the inputs from sums of components."),
    (negative_slope, "Slope of leaky_relu below 0.", more_than(0), at_most(1)),
    (output, "Result of the layer."),
    (mean_beta, "Share of the old mean that is kept.", between(0, 1), adjustable),
    (coefficients_lr, "Size of the first step of the coefficients.", more_than(0), adjustable),
    (coefficients_beta, "Momentum of the coefficients.", at_least(0), less_than(1), adjustable),
    (coefficients_steps, "Steps that find the coefficients.", between(1, 10000), adjustable),
    (components_lr, "Size of a step of the components.", more_than(0), adjustable),
    (components_beta, "Momentum of the components.", at_least(0), less_than(1), adjustable),
    (start_step, "Training step from which the components are learned.", at_least(0), adjustable),
    (end_step, "Training step from which they are learned no more.", required, at_least(1),
     adjustable),
    (constant_lr_schedule, "Keeps components_lr; otherwise it falls to 0 at end_step.", adjustable))

class BregmanPca final : public Layer {
 public:
  using Config = BregmanPcaConfig;
  BregmanPca(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  // Rows z [B, input_dims] to rows like x; `last` is the last extent of x.
  Tensor activated(const Tensor& z, std::int64_t last) const;
  Tensor inverse(const Tensor& x, std::int64_t last) const;
  Tensor divergence(const Tensor& x, const Tensor& z, std::int64_t last) const;
  Tensor coefficients_of(const Tensor& x, std::int64_t last) const;
  Tensor sums(const Tensor& coefficients) const;
  void learn(const Tensor& x, const Tensor& coefficients, std::int64_t last, std::int64_t step);

  std::string path_;
  BregmanPcaConfig config_;
  Parameter &mean_, &components_, &components_momentum_;
};

}  // namespace trivet::nn
