// SPDX-License-Identifier: Apache-2.0
#include "search/stoppers/asha.h"

#include <algorithm>

#include "search/stoppers/curve.h"

namespace trivet::search {

Asha::Asha(const Config& config, StopperContext& context) : config_(config), goal_(context.goal) {}

std::int64_t Asha::rung_below(std::int64_t step) const {
  if (step < config_.min_steps) return 0;
  std::int64_t rung = config_.min_steps;
  while (rung <= step / config_.reduction_factor) rung *= config_.reduction_factor;
  return rung;
}

std::optional<std::string> Asha::should_stop(const Trial& trial,
                                             std::span<const Trial> trials) const {
  const std::int64_t rung = rung_below(reached_step(trial));
  if (rung == 0) return std::nullopt;
  const double loss = *loss_from(trial, rung, goal_);
  std::int64_t there = 1, better = 0;
  for (const Trial& other : trials) {
    if (other.number == trial.number) continue;
    const std::optional<double> theirs = loss_from(other, rung, goal_);
    there += theirs.has_value();
    better += theirs.has_value() && *theirs < loss;
  }
  const std::int64_t kept = std::max<std::int64_t>(1, there / config_.reduction_factor);
  if (better < kept) return std::nullopt;
  return "rung " + std::to_string(rung) + ": " + short_text(loss_of(loss, goal_)) + " is rank " +
         std::to_string(better + 1) + " of " + std::to_string(there) + " trials, and " +
         std::to_string(kept) + (kept == 1 ? " continues" : " continue");
}

}  // namespace trivet::search
