// SPDX-License-Identifier: Apache-2.0
#include "search/math/acquisition.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace trivet::search {
namespace {

constexpr double kLogRoot2Pi = 0.91893853320467274178;  // log(sqrt(2 pi))

double unit_improvement(double z) {
  const double density = std::exp(-0.5 * z * z - kLogRoot2Pi);
  return z * 0.5 * std::erfc(-z / std::numbers::sqrt2) + density;
}

// z F(z) + f(z) = f(z) / z^2 (1 - 3 / z^2 + 15 / z^4 - 105 / z^6 + ...) for very negative z, where
// the two terms of the difference nearly cancel.
double log_unit_improvement(double z) {
  if (z > -20) return std::log(unit_improvement(z));
  const double w = 1 / (z * z);
  return -0.5 * z * z - kLogRoot2Pi + std::log(w) + std::log1p(w * (-3 + w * (15 - 105 * w)));
}

}  // namespace

double log_expected_improvement(double mean, double deviation, double best) {
  if (deviation > 0) {
    return std::log(deviation) + log_unit_improvement((best - mean) / deviation);
  }
  return best > mean ? std::log(best - mean) : -std::numeric_limits<double>::infinity();
}

}  // namespace trivet::search
