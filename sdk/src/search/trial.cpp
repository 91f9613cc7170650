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

}  // namespace trivet::search
