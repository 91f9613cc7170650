// SPDX-License-Identifier: Apache-2.0
#include "optim/schedules/warmed_schedule.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace trivet::optim {

double warming_value(const WarmupConfig& warmup, std::int64_t step, double target) {
  const std::int64_t s = warmup.count_from_one ? std::max<std::int64_t>(step, 1) : step;
  const double part = static_cast<double>(s) / static_cast<double>(warmup.steps);
  return warmup.start + (target - warmup.start) * std::pow(part, warmup.power);
}

}  // namespace trivet::optim
