// SPDX-License-Identifier: Apache-2.0
// search/ByValue: stops a trial whose objective is worse than a threshold at a step.
//
//   stopper = { type = "search/ByValue", step_values = [{ step = 1000, value = 0.5 }] }
//
// The first measurement at the step or later counts. A number that is not finite is worse than any
// threshold.
#pragma once

#include <cstdint>
#include <vector>

#include "trivet/search/stopper.h"

namespace trivet::search {

struct StepValueConfig {
  std::int64_t step = 0;
  double value = 0;
};
TRIVET_CONFIG(StepValueConfig, trivet::NoBase,
              (step, "Step from which on a trial is compared.", required, at_least(0)),
              (value, "A trial with a worse value stops.", required))

struct ByValueConfig : StopperConfig {
  std::vector<StepValueConfig> step_values{};

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(ByValueConfig, trivet::search::StopperConfig,
              (step_values, "Thresholds, by step.", required))

class ByValue final : public Stopper {
 public:
  using Config = ByValueConfig;
  ByValue(const Config& config, StopperContext& context);
  std::optional<std::string> should_stop(const Trial& trial,
                                         std::span<const Trial> trials) const override;

 private:
  Config config_;
  Goal goal_;
};

}  // namespace trivet::search
