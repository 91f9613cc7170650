// SPDX-License-Identifier: Apache-2.0
#include "optim/schedules/warmed_schedule.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace trivet::optim {

std::int64_t WarmupConfig::length() const {
  if (share == 0) return steps;
  return std::max<std::int64_t>(std::llround(share * static_cast<double>(of_steps)), 1);
}

void WarmupConfig::validate(Diagnostics& diagnostics) const {
  if (share > 0 && steps > 0) {
    diagnostics.add("share", "is set, and steps, too", "remove one of them");
  }
  if (share > 0 && of_steps == 0) {
    diagnostics.add("of_steps", "is 0, and share needs the steps of the training",
                    "write of_steps = \"${trainer.train_steps}\"");
  }
  if (share == 0 && of_steps > 0) diagnostics.add("of_steps", "has no effect without share");
}

double warming_value(const WarmupConfig& warmup, std::int64_t step, double target) {
  const std::int64_t s = warmup.count_from_one ? std::max<std::int64_t>(step, 1) : step;
  const double part = static_cast<double>(s) / static_cast<double>(warmup.length());
  return warmup.start + (target - warmup.start) * std::pow(part, warmup.power);
}

}  // namespace trivet::optim
