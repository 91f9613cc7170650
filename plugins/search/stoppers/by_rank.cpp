// SPDX-License-Identifier: Apache-2.0
#include "search/stoppers/by_rank.h"

#include <algorithm>

#include "search/stoppers/curve.h"

namespace trivet::search {

void StepRankConfig::validate(Diagnostics& diagnostics) const {
  if (rank.has_value() != fraction.has_value()) return;
  diagnostics.add("rank",
                  rank ? "is set, and fraction is, too" : "neither rank nor fraction is set",
                  "set one of them");
}

void ByRankConfig::validate(Diagnostics& diagnostics) const {
  check_steps(step_ranks, "step_ranks", diagnostics);
}

ByRank::ByRank(const Config& config, StopperContext& context)
    : config_(config), goal_(context.goal) {}

std::optional<std::string> ByRank::should_stop(const Trial& trial,
                                               std::span<const Trial> trials) const {
  const StepRankConfig* rule = nullptr;
  for (const StepRankConfig& each : config_.step_ranks) {
    if (each.step <= reached_step(trial)) rule = &each;
  }
  if (rule == nullptr) return std::nullopt;
  std::vector<double> others;
  for (const Trial& other : trials) {
    if (other.number == trial.number) continue;
    if (const auto theirs = loss_from(other, rule->step, goal_)) others.push_back(*theirs);
  }
  const std::int64_t count = std::ssize(others);
  const double last = static_cast<double>(count - 1);
  const std::int64_t index =
      rule->rank ? *rule->rank - 1 : static_cast<std::int64_t>(last * *rule->fraction);
  if (count < rule->min_histogram_size || index >= count) return std::nullopt;
  std::sort(others.begin(), others.end());
  const double limit = others[static_cast<std::size_t>(index)];
  const double loss = *loss_from(trial, rule->step, goal_);
  if (!(loss > limit)) return std::nullopt;
  return "step " + std::to_string(rule->step) + ": " + short_text(loss_of(loss, goal_)) +
         " is worse than " + short_text(loss_of(limit, goal_)) + ", rank " +
         std::to_string(index + 1) + " of " + std::to_string(count) + " others";
}

}  // namespace trivet::search
