// SPDX-License-Identifier: Apache-2.0
// WeightNormL2: weight normalization (Salimans and Kingma 2016), as the `parametrization` of
// nn/Linear and nn/Conv2d. Weights v [.., dim] -> the same shape: each column of the last axis
// has the length g,
//
//   w = g v / sqrt(sum(v^2) + 1e-12), the sum over all axes but the last.
//
// Parameter "g" [dim], starting at 1, as in Praxis, which stores g - 1.
#pragma once

#include <string>

#include "trivet/layer.h"

namespace trivet::nn {

struct WeightNormL2Config : LayerConfig {
  std::int64_t dim = 0;
};
TRIVET_CONFIG(WeightNormL2Config, trivet::LayerConfig,
              (dim, "Last extent of the weights; 0 in a template: as the layer around it.",
               at_least(0)))

class WeightNormL2 final : public Layer {
 public:
  using Config = WeightNormL2Config;
  WeightNormL2(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& v, FpropContext& context) override;

 private:
  std::string path_;
  std::int64_t dim_;
  Parameter& g_;
};

}  // namespace trivet::nn
