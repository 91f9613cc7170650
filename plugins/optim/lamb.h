// SPDX-License-Identifier: Apache-2.0
// Lamb: Adam whose steps are scaled by the norm of each variable (You et al. 2020, "Large batch
// optimization for deep learning", algorithm 2; phi is the identity).
//
//   m = beta1 m + (1 - beta1) g                  v = beta2 v + (1 - beta2) g^2
//   u = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay w
//   w -= lr (|w| / |u|) u                        the ratio is 1 if a norm is 0
//
// Slots: "m", "v". As Model Garden's lamb (LayerAdaptationConfig has its lists).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "adam_fields.h"
#include "optim/parts/layer_filter.h"

namespace trivet::optim {

struct LambConfig : LayerAdaptationConfig {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
};
TRIVET_CONFIG(LambConfig, trivet::optim::LayerAdaptationConfig, TRIVET_MOMENT_FIELDS)

class Lamb final : public Optimizer {
 public:
  using Config = LambConfig;
  explicit Lamb(const Config& config) : config_(config), filter_(config) {}
  std::vector<std::string> slots() const override { return {"m", "v"}; }
  std::int64_t group_of(const Parameter& parameter) const override {
    return filter_.group_of(parameter);
  }
  bool per_variable() const override { return true; }
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override;
  void check_variables(std::span<const Parameter* const> variables) const override {
    filter_.check_variables(variables);
  }

 private:
  void update(const OptimizerStep& step, OptimizerSegment& segment) const;

  Config config_;
  LayerFilter filter_;
};

}  // namespace trivet::optim
