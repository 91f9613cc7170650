// SPDX-License-Identifier: Apache-2.0
// Lars: momentum with a learning rate per variable (You, Gitman, Ginsburg 2017, "Large batch
// training of convolutional networks", equation 6 and algorithm 1).
//
//   g += weight_decay w
//   classic_momentum (the paper's):
//     v = momentum v + lr trust g,  trust = eeta |w| / |g|;   w -= nesterov ? momentum v + lr trust g
//                                                                           : v
//   else ("popular momentum"):
//     v = momentum v + g;  u = nesterov ? momentum v + g : v
//     w -= lr trust u,              trust = eeta |w| / |u|
//
// trust is 1 if a norm is 0 and for variables excluded from adaptation. As Model Garden's lars.
// Slot: "momentum" (v).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "optim/parts/layer_filter.h"

namespace trivet::optim {

struct LarsConfig : LayerAdaptationConfig {
  double momentum = 0.9;
  double eeta = 0.001;
  bool nesterov = false;
  bool classic_momentum = true;
};
TRIVET_CONFIG(LarsConfig, trivet::optim::LayerAdaptationConfig,
              (momentum, "Share of the old direction that is kept.", at_least(0), less_than(1),
               adjustable),
              (eeta, "The trust coefficient: step length as a share of the weights' norm.",
               more_than(0), adjustable),
              (nesterov, "Looks ahead along the momentum.", adjustable),
              (classic_momentum, "The learning rate is part of the momentum, as in the paper."))

class Lars final : public Optimizer {
 public:
  using Config = LarsConfig;
  explicit Lars(const Config& config) : config_(config), filter_(config) {}
  std::vector<std::string> slots() const override { return {"momentum"}; }
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
  // x scaled by lr, and by trust if the variable is adapted.
  Tensor adapted(const Tensor& x, const OptimizerSegment& segment, double learning_rate) const;

  Config config_;
  LayerFilter filter_;
};

}  // namespace trivet::optim
