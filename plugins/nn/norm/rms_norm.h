// SPDX-License-Identifier: Apache-2.0
// RmsNorm: y = x / sqrt(mean(x^2) + epsilon) * scale over the last axis (Zhang and Sennrich 2019).
// x [.., dim].
//
// Parameter "scale" [dim], the factor itself (Praxis' direct_scale), starting at 1. Without it this
// is Praxis' RmsNormNoScale. Epsilon is Praxis' 1e-6.
#pragma once

#include <string>

#include "trivet/layer/extend_step.h"

namespace trivet::nn {

struct RmsNormConfig : LayerConfig {
  std::int64_t dim = 0;
  double epsilon = 1e-6;
  bool use_scale = true;
};
TRIVET_CONFIG(RmsNormConfig, trivet::LayerConfig,
              (dim, "Depth of the input; 0 in a template: what the layer around it says.",
               at_least(0)),
              (epsilon, "Constant added to the mean square.", more_than(0)),
              (use_scale, "Multiplies by a learned vector."))

class RmsNorm final : public LocalLayer {
 public:
  using Config = RmsNormConfig;
  RmsNorm(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  std::string path_;
  std::int64_t dim_;
  float epsilon_;
  Parameter* scale_;  // null if not used
};

}  // namespace trivet::nn
