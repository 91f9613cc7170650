// SPDX-License-Identifier: Apache-2.0
// Sgd: gradient descent, with momentum (Polyak 1964) or Nesterov's (Sutskever et al. 2013).
//
//   g += weight_decay * w                    (an l2 penalty, scaled with the learning rate)
//   v = momentum * v + g
//   w -= lr * (nesterov ? g + momentum * v : v)
//
// Without momentum w -= lr * g. The learning rate is outside v, as in Praxis and PyTorch. With
// learning_rate_in_momentum it is inside, as in Keras and Model Garden, which differs only while
// the learning rate changes:
//
//   v = momentum * v + lr * g
//   w -= nesterov ? lr * g + momentum * v : v
//
// Slot: "momentum" (v), if momentum is not 0.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optim/parts/decay_filter.h"

namespace trivet::optim {

struct SgdConfig : DecayConfig {
  double momentum = 0;
  bool nesterov = false;
  bool learning_rate_in_momentum = false;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(SgdConfig, trivet::optim::DecayConfig,
              (momentum, "Share of the old direction that is kept.", at_least(0), less_than(1),
               adjustable),
              (nesterov, "Looks ahead along the momentum.", adjustable),
              (learning_rate_in_momentum,
               "The momentum keeps past steps with the learning rates they had, as in Keras and "
               "Model Garden; else a new rate applies to all of it, as in PyTorch and Praxis."))

class Sgd final : public Optimizer {
 public:
  using Config = SgdConfig;
  explicit Sgd(const Config& config);
  std::vector<std::string> slots() const override;
  std::int64_t group_of(const Parameter& parameter) const override;
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override;
  void check_variables(std::span<const Parameter* const> variables) const override {
    filter_.check_variables(variables);
  }

 private:
  Config config_;
  DecayFilter filter_;
};

}  // namespace trivet::optim
