// SPDX-License-Identifier: Apache-2.0
// NoNorm: y = x * scale + bias over the last axis, where others have a norm, but without statistics
// of x (Sun et al. 2020, "MobileBERT", section 3.3). x [.., dim].
//
// Parameters "scale" [dim], starting at 1, and "bias" [dim], at 0.
#pragma once

#include <cstdint>
#include <string>

#include "trivet/layer/extend_step.h"

namespace trivet::nn {

struct NoNormConfig : LayerConfig {
  std::int64_t dim = 0;
};
TRIVET_CONFIG(NoNormConfig, trivet::LayerConfig,
              (dim, "Depth of the input; 0 in a template: what the layer around it says.",
               at_least(0)))

class NoNorm final : public LocalLayer {
 public:
  using Config = NoNormConfig;
  NoNorm(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  std::string path_;
  std::int64_t dim_;
  Parameter &scale_, &bias_;
};

}  // namespace trivet::nn
