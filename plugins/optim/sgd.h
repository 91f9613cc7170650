// SPDX-License-Identifier: Apache-2.0
// Sgd: gradient descent, with momentum (Polyak 1964) or Nesterov's (Sutskever et al. 2013).
//
//   g += weight_decay * w                    (an l2 penalty, scaled with the learning rate)
//   v = momentum * v + g
//   w -= lr * (nesterov ? g + momentum * v : v)
//
// Without momentum w -= lr * g. The learning rate stands outside v, as in Praxis and PyTorch; Keras
// and Model Garden put it inside, which differs only while the learning rate changes.
// Slot: "momentum" (v), where momentum is not 0.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decay.h"

namespace trivet::optim {

struct SgdConfig : DecayConfig {
  double momentum = 0;
  bool nesterov = false;

  void validate(Problems& problems) const;
};
TRIVET_CONFIG(SgdConfig, trivet::optim::DecayConfig,
              (momentum, "Share of the old direction that is kept.", at_least(0), less_than(1)),
              (nesterov, "Looks ahead along the momentum."))

class Sgd final : public Optimizer {
 public:
  using Config = SgdConfig;
  explicit Sgd(const Config& config);
  std::vector<std::string> slots() const override;
  std::int64_t group_of(const Parameter& parameter) const override;
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override;

 private:
  Config config_;
  DecayFilter filter_;
};

}  // namespace trivet::optim
