// SPDX-License-Identifier: Apache-2.0
// FakeQuantization: quantization-aware training (Jacob et al. 2018), as the `parametrization` of
// nn/Linear and nn/Conv2d. Weights w [.., out] -> the same shape, with the values that integers of
// `bits` bits would give, symmetric around 0, with a scale for each column of the last axis:
//
//   scale = max |w| / (2^(bits - 1) - 1),  w' = scale floor(w / scale + 1/2)
//
// A column of zeros stays. The gradient is that of w' = w (the straight-through estimator, Bengio
// et al. 2013). The products themselves are in f32: there are no integer kernels. The scale is that
// of Jacob et al.; Praxis' AQT divides by 2^(bits - 1) - 1/2.
#pragma once

#include "trivet/layer.h"

namespace trivet::nn {

struct FakeQuantizationConfig : LayerConfig {
  std::int64_t bits = 8;
};
TRIVET_CONFIG(FakeQuantizationConfig, trivet::LayerConfig,
              (bits, "Bits of the integers, with sign.", between(2, 16)))

class FakeQuantization final : public Layer {
 public:
  using Config = FakeQuantizationConfig;
  FakeQuantization(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& w, FpropContext& context) override;

 private:
  float largest_;  // integer
};

}  // namespace trivet::nn
