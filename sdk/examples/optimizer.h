// SPDX-License-Identifier: Apache-2.0
// Adadelta (Zeiler 2012, arXiv:1212.5701, algorithm 1), with a learning rate as PyTorch has it; the
// paper's is 1.
//
//   E[g^2] = rho E[g^2] + (1 - rho) g^2
//   d = -sqrt(E[d^2] + epsilon) / sqrt(E[g^2] + epsilon) g
//   E[d^2] = rho E[d^2] + (1 - rho) d^2
//   w = w + lr d
#pragma once

#include <string>
#include <vector>

#include <trivet/ops.h>
#include <trivet/optimizer.h>
#include <trivet/train/optim_update.h>

namespace acme {

// [class]
struct AdadeltaConfig : trivet::OptimizerConfig {
  double rho = 0.95;
  double epsilon = 1e-6;
};
TRIVET_CONFIG(AdadeltaConfig, trivet::OptimizerConfig,
              (rho, "Decay of both means.", at_least(0), less_than(1), adjustable),
              (epsilon, "Added to both means before their roots.", more_than(0), adjustable))

class Adadelta final : public trivet::Optimizer {
 public:
  using Config = AdadeltaConfig;

  explicit Adadelta(const Config& config)
      : rho_(static_cast<float>(config.rho)), epsilon_(static_cast<float>(config.epsilon)) {}

  std::vector<std::string> slots() const override { return {"gradients", "changes"}; }

  void update(const trivet::OptimizerStep& step,
              std::span<trivet::OptimizerSegment> segments) override {
    namespace ops = trivet::ops;
    for (trivet::OptimizerSegment& segment : segments) {
      const trivet::Tensor g = ops::mul(segment.gradient, step.gradient_scale);
      const trivet::Tensor gradients = mean_with(segment.slots[0], ops::square(g));
      const trivet::Tensor ratio = ops::div(ops::add(segment.slots[1], epsilon_),  //
                                            ops::add(gradients, epsilon_));
      const trivet::Tensor change = ops::neg(ops::mul(ops::sqrt(ratio), g));
      const trivet::Tensor changes = mean_with(segment.slots[1], ops::square(change));
      const auto rate = static_cast<float>(step.learning_rate);
      trivet::assign(segment.value, ops::add(segment.value, ops::mul(change, rate)));
      trivet::assign(segment.slots[0], gradients);
      trivet::assign(segment.slots[1], changes);
    }
  }

 private:
  trivet::Tensor mean_with(const trivet::Tensor& mean, const trivet::Tensor& squares) const {
    namespace ops = trivet::ops;
    return ops::add(ops::mul(mean, rho_), ops::mul(squares, 1 - rho_));
  }

  float rho_, epsilon_;
};
// [/class]

}  // namespace acme
