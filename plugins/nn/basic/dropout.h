// SPDX-License-Identifier: Apache-2.0
// Dropout: in training each element becomes 0 with probability `rate` and the others are divided by
// 1 - rate (Srivastava et al. 2014, inverted); otherwise the input goes through.
//
// What is dropped is a function of the run's seed, the step and the layer's path: a resumed run
// drops the same. A layer that is called twice in one step drops the same positions twice.
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
