// SPDX-License-Identifier: Apache-2.0
// Adagrad (Duchi, Hazan, Singer 2011, the diagonal form): every weight's learning rate falls with
// the sum of its squared gradients.
//
//   a += g^2                                     a starts at initial_accumulator
//   w -= lr g / (sqrt(a + epsilon_root) + epsilon)
//
// Slot: "sum" (a). Defaults are those of Keras and Model Garden; optax and Praxis have
// epsilon_root = 1e-10 and epsilon = 0.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/optimizer.h"

namespace trivet::optim {

struct AdagradConfig : OptimizerConfig {
  double initial_accumulator = 0.1;
  double epsilon = 1e-7;
  double epsilon_root = 0;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(AdagradConfig, trivet::OptimizerConfig,
              (initial_accumulator, "Initial value of the sums of squares.", at_least(0)),
              (epsilon, "Constant added to the root of the sums.", at_least(0), adjustable),
              (epsilon_root, "Constant added to the sums under the root.", at_least(0), adjustable))

class Adagrad final : public Optimizer {
 public:
  using Config = AdagradConfig;
  explicit Adagrad(const Config& config) : config_(config) {}
  std::vector<std::string> slots() const override { return {"sum"}; }
  double slot_start(std::string_view) const override { return config_.initial_accumulator; }
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override;

 private:
  Config config_;
};

}  // namespace trivet::optim
