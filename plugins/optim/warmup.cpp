// SPDX-License-Identifier: Apache-2.0
#include "warmup.h"

#include <cmath>

namespace trivet::optim {

double warming_value(const WarmupConfig& warmup, std::int64_t step, double target) {
  const double part = static_cast<double>(step) / static_cast<double>(warmup.steps);
  return warmup.start + (target - warmup.start) * std::pow(part, warmup.power);
}

}  // namespace trivet::optim
