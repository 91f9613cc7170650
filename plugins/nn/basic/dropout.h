// SPDX-License-Identifier: Apache-2.0
// Dropout: in training each element becomes 0 with probability `rate` and the others are divided by
// 1 - rate (Srivastava et al. 2014, inverted); otherwise the input passes unchanged.
//
// The choice depends only on the run's seed, the step and the layer's path, so a resumed run drops
// the same elements. A layer that is called twice in one step drops the same elements twice.
#pragma once

#include <string>

#include "trivet/layer/extend_step.h"

namespace trivet::nn {

struct DropoutConfig : LayerConfig {
  double rate = 0;
};
TRIVET_CONFIG(DropoutConfig, trivet::LayerConfig,
              (rate, "Share of the elements that is dropped.", required, at_least(0), less_than(1),
               adjustable))

class Dropout final : public LocalLayer {
 public:
  using Config = DropoutConfig;
  Dropout(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  std::string path_;
  float rate_;
};

}  // namespace trivet::nn
