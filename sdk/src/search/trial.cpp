// SPDX-License-Identifier: Apache-2.0
#include "trivet/search/trial.h"

#include <cmath>

namespace trivet::search {

std::optional<double> final_loss(const Trial& trial, Goal goal) {
  if (trial.state != TrialState::complete && trial.state != TrialState::stopped) return {};
  std::optional<double> value = trial.value;
  if (!value && !trial.measurements.empty()) value = trial.measurements.back().value;
  if (!value || !std::isfinite(*value)) return {};
  return loss_of(*value, goal);
}

std::optional<std::vector<double>> final_losses(const Trial& trial, std::span<const Goal> goals) {
  const std::optional<double> first = final_loss(trial, goals.front());
  if (!first) return std::nullopt;
  if (goals.size() == 1) return std::vector{*first};
  if (trial.values.size() != goals.size()) return std::nullopt;
  std::vector<double> losses;
  for (std::size_t i = 0; i < goals.size(); ++i) {
    if (!std::isfinite(trial.values[i])) return std::nullopt;
    losses.push_back(loss_of(trial.values[i], goals[i]));
  }
  return losses;
}

}  // namespace trivet::search
