// SPDX-License-Identifier: Apache-2.0
#include "search/stoppers/by_value.h"

#include <cmath>

#include "search/stoppers/curve.h"

namespace trivet::search {

void ByValueConfig::validate(Diagnostics& diagnostics) const {
  check_steps(step_values, "step_values", diagnostics);
  for (std::size_t i = 0; i < step_values.size(); ++i) {
    if (std::isfinite(step_values[i].value)) continue;
    diagnostics.add(joined_path("step_values", i) + ".value", "is not finite");
  }
}

ByValue::ByValue(const Config& config, StopperContext& context)
    : config_(config), goal_(context.goal) {}

std::optional<std::string> ByValue::should_stop(const Trial& trial, std::span<const Trial>) const {
  for (const StepValueConfig& rule : config_.step_values) {
    const std::optional<double> loss = loss_from(trial, rule.step, goal_);
    if (!loss || !(*loss > loss_of(rule.value, goal_))) continue;
    return "step " + std::to_string(rule.step) + ": " + short_text(loss_of(*loss, goal_)) +
           " is worse than " + short_text(rule.value);
  }
  return std::nullopt;
}

}  // namespace trivet::search
