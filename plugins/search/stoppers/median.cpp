// SPDX-License-Identifier: Apache-2.0
#include "search/stoppers/median.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "search/math/median_of.h"
#include "search/stoppers/curve.h"

namespace trivet::search {
namespace {

bool has_ended(const Trial& trial) {
  return trial.state == TrialState::complete || trial.state == TrialState::stopped;
}

double mean_loss_until(const Trial& trial, std::int64_t step, Goal goal) {
  double sum = 0;
  int count = 0;
  for (const Measurement& measurement : trial.measurements) {
    if (measurement.step > step) break;
    sum += measured_loss(measurement, goal);
    ++count;
  }
  return count == 0 ? std::numeric_limits<double>::infinity() : sum / count;
}

double best_loss(const Trial& trial, Goal goal) {
  double best = std::numeric_limits<double>::infinity();
  for (const Measurement& measurement : trial.measurements) {
    best = std::min(best, measured_loss(measurement, goal));
  }
  return best;
}

}  // namespace

Median::Median(const Config& config, StopperContext& context)
    : config_(config), goal_(context.goal) {}

std::optional<std::string> Median::should_stop(const Trial& trial,
                                               std::span<const Trial> trials) const {
  const std::int64_t step = reached_step(trial);
  if (step < 0 || step < config_.warmup_steps) return std::nullopt;
  std::vector<double> means;
  for (const Trial& other : trials) {
    if (other.number == trial.number || !has_ended(other) || reached_step(other) < step) continue;
    means.push_back(mean_loss_until(other, step, goal_));
  }
  if (static_cast<std::int64_t>(means.size()) < config_.n_startup) return std::nullopt;
  const std::size_t count = means.size();
  const double median = median_of(std::move(means));
  const double best = best_loss(trial, goal_);
  if (!(best > median)) return std::nullopt;
  return "step " + std::to_string(step) + ": its best, " + short_text(loss_of(best, goal_)) +
         ", is worse than " + short_text(loss_of(median, goal_)) + ", the median of " +
         std::to_string(count) + " trials";
}

}  // namespace trivet::search
