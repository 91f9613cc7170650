// SPDX-License-Identifier: Apache-2.0
// search/ByRank: stops a trial that is worse at a step than the other trial of a rank.
//
//   step_ranks = [{ step = 1000, fraction = 0.5, min_histogram_size = 5 }]
//
// The first measurement at the step or later counts. A trial is compared at the last of the steps
// that it has reached, with all n others that have reached it: with the one of `rank`, the best
// being 1, or of rank 1 + floor((n - 1) fraction). It stops if it is worse. Ranks are recomputed at
// every check, so a trial behind the step also stops when later trials are better.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trivet/search/stopper.h"

namespace trivet::search {

struct StepRankConfig {
  std::int64_t step = 0;
  std::optional<std::int64_t> rank{};
  std::optional<double> fraction{};
  std::int64_t min_histogram_size = 1;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(StepRankConfig, trivet::NoBase,
              (step, "Step from which on a trial is compared.", required, at_least(0)),
              (rank,
               "A trial stops that is worse than the other one of this rank, the best being 1. "
               "Fewer others than that stop none.",
               at_least(1)),
              (fraction,
               "Rank in parts of the other trials, instead of rank: 0 is the best, 1 the worst.",
               between(0, 1)),
              (min_histogram_size, "Other trials that have reached the step before any stops.",
               at_least(1)))

struct ByRankConfig : StopperConfig {
  std::vector<StepRankConfig> step_ranks{};

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(ByRankConfig, trivet::search::StopperConfig,
              (step_ranks, "Ranks to reach, by step.", required))

class ByRank final : public Stopper {
 public:
  using Config = ByRankConfig;
  ByRank(const Config& config, StopperContext& context);
  std::optional<std::string> should_stop(const Trial& trial,
                                         std::span<const Trial> trials) const override;

 private:
  Config config_;
  Goal goal_;
};

}  // namespace trivet::search
