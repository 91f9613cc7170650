// SPDX-License-Identifier: Apache-2.0
// LayerNorm: y = (x - mean) / sqrt(variance + epsilon) * scale + bias over the last axis, with the
// biased variance (Ba, Kiros, Hinton 2016). x [.., dim].
//
// Parameters "scale" [dim], starting at 1, and "bias" [dim], at 0. Epsilon is Praxis' 1e-6. Praxis
// stores scale - 1; here the factor itself is stored, as in Keras and PyTorch.
#pragma once

#include <string>

#include "trivet/layer/extend_step.h"

namespace trivet::nn {

struct LayerNormConfig : LayerConfig {
  std::int64_t dim = 0;
  double epsilon = 1e-6;
  bool use_scale = true;
  bool use_bias = true;
};
TRIVET_CONFIG(LayerNormConfig, trivet::LayerConfig,
              (dim, "Depth of the input; 0 in a template: what the layer around it says.",
               at_least(0)),
              (epsilon, "Constant added to the variance.", more_than(0)),
              (use_scale, "Multiplies by a learned vector."), (use_bias, "Adds a learned vector."))

class LayerNorm final : public LocalLayer {
 public:
  using Config = LayerNormConfig;
  LayerNorm(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  std::string path_;
  std::int64_t dim_;
  float epsilon_;
  Parameter *scale_, *bias_;  // null if not used
};

}  // namespace trivet::nn
