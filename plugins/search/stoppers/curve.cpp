// SPDX-License-Identifier: Apache-2.0
#include "search/stoppers/curve.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace trivet::search {

double measured_loss(const Measurement& measurement, Goal goal) {
  if (!std::isfinite(measurement.value)) return std::numeric_limits<double>::infinity();
  return loss_of(measurement.value, goal);
}

std::int64_t reached_step(const Trial& trial) {
  return trial.measurements.empty() ? -1 : trial.measurements.back().step;
}

std::optional<double> loss_from(const Trial& trial, std::int64_t step, Goal goal) {
  const auto found = std::find_if(trial.measurements.begin(), trial.measurements.end(),
                                  [step](const Measurement& m) { return m.step >= step; });
  if (found == trial.measurements.end()) return std::nullopt;
  return measured_loss(*found, goal);
}

std::string short_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

}  // namespace trivet::search
