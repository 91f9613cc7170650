// SPDX-License-Identifier: Apache-2.0
// Regularized: any optimizer with penalties and decoupled weight decay (Loshchilov and Hutter
// 2019), in the order of Praxis' optimizers:
//
//   g += l1 sign(w) + l2 w
//   w' = what the optimizer makes of w and g
//   w' -= lr * weight_decay * w                  (of the w before the update)
//
// for the parameters that decay_filter.h selects; others have the plain optimizer. The sign of 0 is
// 0. l1 and l2 are added to clipped gradients, and are not part of the loss that a run shows. The
// slots are those of the optimizer.
//
//   optimizer = { type = "optim/Regularized", l1 = 1e-5, optimizer = "optim/RmsProp" }
#pragma once

#include <cstdint>
#include <span>

#include "optim/around/around.h"
#include "optim/parts/decay_filter.h"

namespace trivet::optim {

struct RegularizedConfig : DecayConfig {
  ConfigOf<Optimizer> optimizer;
  double l1 = 0;
  double l2 = 0;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(RegularizedConfig, trivet::optim::DecayConfig,
              (optimizer, "The optimizer that gets the gradients.", required),
              (l1, "Strength of the penalty l1 |w|.", at_least(0), adjustable),
              (l2, "Strength of the penalty l2 w^2 / 2.", at_least(0), adjustable))

class Regularized final : public Around {
 public:
  using Config = RegularizedConfig;
  explicit Regularized(const Config& config);
  std::int64_t group_of(const Parameter& parameter) const override;
  void check_variables(std::span<const Parameter* const> variables) const override;

 private:
  void update_one(const OptimizerStep& step, const OptimizerSegment& segment) override;

  Config config_;
  DecayFilter filter_;
};

}  // namespace trivet::optim
