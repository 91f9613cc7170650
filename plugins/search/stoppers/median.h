// SPDX-License-Identifier: Apache-2.0
// search/Median: the median stopping rule of Golovin et al. (KDD 2017). A trial stops at step s
// when its best measurement so far is worse than the median, over the trials that ended and were
// measured at s or later, of the mean of their measurements up to s.
#pragma once

#include <cstdint>

#include "trivet/search/stopper.h"

namespace trivet::search {

struct MedianConfig : StopperConfig {
  std::int64_t n_startup = 5;
  std::int64_t warmup_steps = 0;
};
TRIVET_CONFIG(MedianConfig, trivet::search::StopperConfig,
              (n_startup, "Trials to compare with before anything stops.", at_least(1)),
              (warmup_steps, "No trial stops before this step.", at_least(0)))

class Median final : public Stopper {
 public:
  using Config = MedianConfig;
  Median(const Config& config, StopperContext& context);
  std::optional<std::string> should_stop(const Trial& trial,
                                         std::span<const Trial> trials) const override;

 private:
  Config config_;
  Goal goal_;
};

}  // namespace trivet::search
