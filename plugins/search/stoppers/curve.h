// SPDX-License-Identifier: Apache-2.0
// Queries on a trial's measurements, for stoppers. Numbers that are not finite count as the worst.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trivet/search/trial.h"

namespace trivet::search {

// Less is better; infinity for NaN.
double measured_loss(const Measurement& measurement, Goal goal);
// The last step that was measured; -1 before the first.
std::int64_t reached_step(const Trial& trial);
// Formats a value with four significant digits.
std::string short_text(double value);

}  // namespace trivet::search
