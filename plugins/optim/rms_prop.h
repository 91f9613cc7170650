// SPDX-License-Identifier: Apache-2.0
// RmsProp (Tieleman and Hinton 2012, lecture 6e; centered: Graves 2013, equations 38 to 45).
//
//   r = rho r + (1 - rho) g^2
//   centered:  c = rho c + (1 - rho) g,  d = r - c^2;  else d = r
//   u = g / (sqrt(d) + epsilon)
//   momentum:  b = momentum b + u,  w -= lr b;         else w -= lr u
//
// The learning rate is outside the momentum, as in Sgd here and in PyTorch. With
// learning_rate_in_momentum it is inside, b = momentum b + lr u and w -= b, as in Keras and Model
// Garden, which differs only while the learning rate changes. This default is PyTorch's, all others
// are Keras'; Keras adds epsilon before it takes the root.
// Slots: "square" (r), "mean" (c), "momentum" (b), the last two if used.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trivet/optimizer.h"

namespace trivet::optim {

struct RmsPropConfig : OptimizerConfig {
  double rho = 0.9;
  double momentum = 0;
  double epsilon = 1e-7;
  bool centered = false;
  bool learning_rate_in_momentum = false;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(RmsPropConfig, trivet::OptimizerConfig,
              (rho, "Decay of the mean of squared gradients.", at_least(0), less_than(1),
               adjustable),
              (momentum, "Share of the old direction that is kept.", at_least(0), less_than(1),
               adjustable),
              (epsilon, "Constant added to the root of the squares.", more_than(0), adjustable),
              (centered, "Divides by the deviation from the mean gradient."),
              (learning_rate_in_momentum,
               "The momentum keeps past steps with the learning rates they had, as in Keras and "
               "Model Garden; else a new rate applies to all of it, as in PyTorch."))

class RmsProp final : public Optimizer {
 public:
  using Config = RmsPropConfig;
  explicit RmsProp(const Config& config) : config_(config) {}
  std::vector<std::string> slots() const override;
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override;

 private:
  void update(const OptimizerStep& step, OptimizerSegment& segment) const;

  Config config_;
};

}  // namespace trivet::optim
