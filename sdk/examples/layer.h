// SPDX-License-Identifier: Apache-2.0
// Swish: x sigmoid(beta x) with one learned beta (Ramachandran, Zoph and Le 2017, arXiv:1710.05941,
// section 5). Takes any shape and gives the same shape. Variable: "beta" [1].
#pragma once

#include <trivet/layer.h>
#include <trivet/layer/extend_step.h>
#include <trivet/ops.h>

namespace acme {

// [class]
struct SwishConfig : trivet::LayerConfig {
  double beta = 1.0;
  bool learned = true;
};
TRIVET_CONFIG(SwishConfig, trivet::LayerConfig, (beta, "The value that beta starts with."),
              (learned, "Trains beta; otherwise beta keeps its first value."))

class Swish final : public trivet::LocalLayer {
 public:
  using Config = SwishConfig;

  Swish(const Config& config, trivet::Scope& scope)
      : beta_(scope.parameter(
            "beta", {1},
            {.init = {trivet::Init::constant, config.beta}, .trainable = config.learned})) {}

  trivet::Tensor fprop(const trivet::Tensor& x, trivet::FpropContext&) override {
    namespace ops = trivet::ops;
    return ops::mul(x, ops::sigmoid(ops::mul(x, beta_.value())));
  }

 private:
  trivet::Parameter& beta_;  // the store owns it
};
// [/class]

}  // namespace acme
