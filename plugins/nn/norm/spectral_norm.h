// SPDX-License-Identifier: Apache-2.0
// SpectralNorm (Miyato et al. 2018), as the `parametrization` of nn/Linear and nn/Conv2d. Weights
// [.., dim] -> the same shape, divided by the largest singular value of the matrix
// W [rows, dim] that they are, where rows is the product of the axes but the last:
//
//   W / sigma,  sigma = v^T W u, at least 1e-12
//
// u and v approach the singular vectors by n_power_iteration steps v = W u / |W u|,
// u = W^T v / |W^T v| in each call, from the state "u" [dim], which starts as a random vector.
// Gradients flow through sigma, not through u and v (equation 12 of the paper). Training keeps u;
// evaluation, as in Praxis, starts from it and leaves it alone. The state "u_before" is where the
// last training step started, for rematerialization, which is exact if the layer is called once a
// step.
#pragma once

#include <string>

#include "trivet/layer.h"

namespace trivet::nn {

struct SpectralNormConfig : LayerConfig {
  std::int64_t dim = 0;
  std::int64_t n_power_iteration = 1;
};
TRIVET_CONFIG(SpectralNormConfig, trivet::LayerConfig,
              (dim, "Last extent of the weights; 0 in a template: as the layer around it.",
               at_least(0)),
              (n_power_iteration, "Steps of the power iteration in each call.", between(1, 1000),
               adjustable))

class SpectralNorm final : public Layer {
 public:
  using Config = SpectralNormConfig;
  SpectralNorm(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& weights, FpropContext& context) override;

 private:
  std::string path_;
  std::int64_t dim_, iterations_;
  Parameter &u_, &u_before_;
};

}  // namespace trivet::nn
