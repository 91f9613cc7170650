// SPDX-License-Identifier: Apache-2.0
#include "schedules.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

namespace trivet::optim {

double ConstantConfig::at(std::int64_t) const {
  return value;
}

double DecayingConfig::steps_done(std::int64_t step) const {
  return static_cast<double>(std::max<std::int64_t>(step - offset, 0));
}

double DecayingConfig::part_done(std::int64_t step) const {
  const auto length = static_cast<double>(decay_steps);
  return std::min(steps_done(step), length) / length;
}

double LinearConfig::at(std::int64_t step) const {
  // In this form the ends are exact.
  const double part = part_done(step);
  return (1 - part) * initial_value + part * final_value;
}

double CosineConfig::at(std::int64_t step) const {
  const double left = (1 + std::cos(std::numbers::pi * part_done(step))) / 2;
  return final_value + (initial_value - final_value) * left;
}

double ExponentialConfig::at(std::int64_t step) const {
  double exponent = steps_done(step) / static_cast<double>(decay_steps);
  if (staircase) exponent = std::floor(exponent);
  return std::max(minimum, initial_value * std::pow(decay_rate, exponent));
}

double PolynomialConfig::at(std::int64_t step) const {
  const double s = steps_done(step);
  auto length = static_cast<double>(decay_steps);
  if (cycle) length *= std::max(1.0, std::ceil(s / length));
  const double left = 1 - std::min(s, length) / length;
  return final_value + (initial_value - final_value) * std::pow(left, power);
}

double PiecewiseConfig::at(std::int64_t step) const {
  const std::int64_t s = std::max<std::int64_t>(step - offset, 0);
  const auto next = std::upper_bound(boundaries.begin(), boundaries.end(), s);
  return values[static_cast<std::size_t>(next - boundaries.begin())];
}

void PiecewiseConfig::validate(Problems& problems) const {
  if (values.size() != boundaries.size() + 1) {
    problems.add("values", "wants " + std::to_string(boundaries.size() + 1) +
                               " values, one more than there are boundaries; has " +
                               std::to_string(values.size()));
  }
  const auto not_rising =
      std::adjacent_find(boundaries.begin(), boundaries.end(), std::greater_equal<>());
  if (not_rising != boundaries.end()) problems.add("boundaries", "must rise");
}

}  // namespace trivet::optim
