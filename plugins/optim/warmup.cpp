// SPDX-License-Identifier: Apache-2.0
#include "warmup.h"

#include <cmath>

namespace trivet::optim {

double Warmed::value(std::int64_t step) const {
  if (step >= warmup_.steps) return plain(step);
  const double part = static_cast<double>(step) / static_cast<double>(warmup_.steps);
  return warmup_.start + (plain(warmup_.steps) - warmup_.start) * std::pow(part, warmup_.power);
}

}  // namespace trivet::optim
