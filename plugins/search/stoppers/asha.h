// SPDX-License-Identifier: Apache-2.0
// search/Asha: asynchronous successive halving (Li et al., MLSys 2020) as a rule for stopping. The
// rungs are the steps min_steps * reduction_factor^k, k = 0, 1, ... A trial's result at a rung is
// its first measurement there or later. At the highest rung that it has reached, a trial continues
// while it is among the best floor(m / reduction_factor) of the m trials that reached the rung, or
// is the best of them. No trial waits for a rung to fill.
//
// Ranks are recomputed at every check, so a trial between two rungs also stops when later trials
// are better. Trials with equal results share the better rank.
#pragma once

#include <cstdint>

#include "trivet/search/stopper.h"

namespace trivet::search {

struct AshaConfig : StopperConfig {
  std::int64_t min_steps = 1;
  std::int64_t reduction_factor = 3;
};
TRIVET_CONFIG(AshaConfig, trivet::search::StopperConfig,
              (min_steps, "Steps that each trial trains before the first rung.", required,
               at_least(1)),
              (reduction_factor, "One in so many trials continues from a rung; eta in the paper.",
               at_least(2)))

class Asha final : public Stopper {
 public:
  using Config = AshaConfig;
  Asha(const Config& config, StopperContext& context);
  std::optional<std::string> should_stop(const Trial& trial,
                                         std::span<const Trial> trials) const override;

 private:
  // The highest rung at or below a step; 0: none.
  std::int64_t rung_below(std::int64_t step) const;

  Config config_;
  Goal goal_;
};

}  // namespace trivet::search
