// SPDX-License-Identifier: Apache-2.0
// Lion: steps of one size, by the sign of an interpolation (Chen et al. 2023, "Symbolic discovery
// of optimization algorithms", algorithm 2).
//
//   w -= lr (sign(beta1 m + (1 - beta1) g) + weight_decay w)
//   m = beta2 m + (1 - beta2) g
//
// The sign of 0 is 0. Slot: "m". Lion needs about a tenth of Adam's learning rate and ten times its
// weight decay. m_dtype is the type in which m is stored, as in Praxis, whose default is bfloat16.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optim/parts/decay_filter.h"
#include "optim/parts/slot_dtype.h"

namespace trivet::optim {

struct LionConfig : DecayConfig {
  double beta1 = 0.9;
  double beta2 = 0.99;
  MomentumDtype m_dtype = MomentumDtype::float32;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(LionConfig, trivet::optim::DecayConfig,
              (beta1, "Share of the momentum in the direction.", at_least(0), less_than(1),
               adjustable),
              (beta2, "Decay of the momentum.", at_least(0), less_than(1), adjustable),
              (m_dtype, "Type of the stored momentum; bfloat16 halves its memory."))

class Lion final : public Optimizer {
 public:
  using Config = LionConfig;
  explicit Lion(const Config& config) : config_(config), filter_(config) {}
  std::vector<std::string> slots() const override { return {"m"}; }
  std::int64_t group_of(const Parameter& parameter) const override {
    return filter_.group_of(parameter);
  }
  DType slot_dtype(std::string_view slot, const Parameter&) const override {
    return dtype_of_slot(slot, config_.m_dtype);
  }
  void update(const OptimizerStep& step, std::span<OptimizerSegment> segments) override;
  void check_variables(std::span<const Parameter* const> variables) const override {
    filter_.check_variables(variables);
  }

 private:
  Config config_;
  DecayFilter filter_;
};

}  // namespace trivet::optim
