// SPDX-License-Identifier: Apache-2.0
// Queries on a trial's measurements, for stoppers. Numbers that are not finite count as the worst.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/config/schema.h"
#include "trivet/search/trial.h"

namespace trivet::search {

// Less is better; infinity for NaN.
double measured_loss(const Measurement& measurement, Goal goal);
// The last step that was measured; -1 before the first.
std::int64_t reached_step(const Trial& trial);
// The loss of the first measurement at a step or later. Nothing before.
std::optional<double> loss_from(const Trial& trial, std::int64_t step, Goal goal);

// Rules of a stopper, each with a `step`: there are some, in the order of their steps.
template <class Rule>
void check_steps(const std::vector<Rule>& rules, std::string_view path, Diagnostics& diagnostics) {
  if (rules.empty()) diagnostics.add(std::string(path), "is empty, so no trial would stop");
  for (std::size_t i = 1; i < rules.size(); ++i) {
    if (rules[i].step > rules[i - 1].step) continue;
    diagnostics.add(joined_path(path, i) + ".step", "is not after the step before it");
  }
}

// Formats a value with four significant digits.
std::string short_text(double value);

}  // namespace trivet::search
