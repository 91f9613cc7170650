// SPDX-License-Identifier: Apache-2.0
#include "optim/schedules/schedules.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

namespace trivet::optim {
namespace {

// Falls from 1 to 0 as `part` rises from 0 to 1.
double half_cosine(double part) {
  return (1 + std::cos(std::numbers::pi * part)) / 2;
}

// step - offset, at least `lowest`. The largest number if it does not fit.
std::int64_t steps_since(std::int64_t offset, std::int64_t step, std::int64_t lowest) {
  std::int64_t s = 0;
  if (__builtin_sub_overflow(step, offset, &s)) return std::numeric_limits<std::int64_t>::max();
  return std::max(s, lowest);
}

}  // namespace

void check_rising(const std::vector<std::int64_t>& boundaries, Diagnostics& diagnostics) {
  const auto not_rising =
      std::adjacent_find(boundaries.begin(), boundaries.end(), std::greater_equal<>());
  if (not_rising != boundaries.end()) diagnostics.add("boundaries", "must increase");
}

double ConstantConfig::at(std::int64_t) const {
  return value;
}

double DecayingConfig::steps_done(std::int64_t step) const {
  return static_cast<double>(steps_since(offset, step, 0));
}

double DecayingConfig::part_done(std::int64_t step) const {
  const auto length = static_cast<double>(decay_steps);
  return std::min(steps_done(step), length) / length;
}

double LinearConfig::at(std::int64_t step) const {
  // This form is exact at both ends.
  const double part = part_done(step);
  return (1 - part) * initial_value + part * final_value;
}

double CosineConfig::at(std::int64_t step) const {
  return final_value + (initial_value - final_value) * half_cosine(part_done(step));
}

double ExponentialConfig::at(std::int64_t step) const {
  double exponent = steps_done(step) / static_cast<double>(decay_steps);
  if (staircase) exponent = std::floor(exponent);
  return std::max(minimum, initial_value * std::pow(decay_rate, exponent));
}

double InverseTimeConfig::at(std::int64_t step) const {
  return initial_value / (1 + decay_rate * steps_done(step) / static_cast<double>(decay_steps));
}

double PolynomialConfig::at(std::int64_t step) const {
  const double s = steps_done(step);
  auto length = static_cast<double>(decay_steps);
  if (cycle) length *= std::max(1.0, std::ceil(s / length));
  const double done = std::min(s, length) / length;
  if (origin == PolynomialOrigin::start) {
    return initial_value + (final_value - initial_value) * std::pow(done, power);
  }
  return final_value + (initial_value - final_value) * std::pow(1 - done, power);
}

double PiecewiseConfig::at(std::int64_t step) const {
  const std::int64_t s = steps_since(offset, step, 0);
  const auto next = closed ? std::lower_bound(boundaries.begin(), boundaries.end(), s)
                           : std::upper_bound(boundaries.begin(), boundaries.end(), s);
  return values[static_cast<std::size_t>(next - boundaries.begin())];
}

void PiecewiseConfig::validate(Diagnostics& diagnostics) const {
  if (values.size() != boundaries.size() + 1) {
    diagnostics.add("values", "needs " + std::to_string(boundaries.size() + 1) +
                                  " values, one more than boundaries; has " +
                                  std::to_string(values.size()));
  }
  check_rising(boundaries, diagnostics);
}

double PowerConfig::at(std::int64_t step) const {
  const std::int64_t s = steps_since(offset, step, 1);
  return initial_value * std::pow(static_cast<double>(s), power);
}

double PowerLinearConfig::at(std::int64_t step) const {
  const double value = PowerConfig::at(step);
  if (linear_decay_fraction == 0) return value;
  const auto total = static_cast<double>(total_decay_steps);
  const auto s = static_cast<double>(steps_since(offset, step, 0));
  return value * std::clamp((total - s) / (total * linear_decay_fraction), 0.0, 1.0);
}

double PowerWithOffsetConfig::at(std::int64_t step) const {
  if (step <= offset) return pre_offset_value;
  return std::min(PowerConfig::at(step), pre_offset_value);
}

double StepCosineConfig::at(std::int64_t step) const {
  const std::int64_t s = steps_since(offset, step, 0);
  const auto next = std::upper_bound(boundaries.begin(), boundaries.end(), s);
  if (next == boundaries.begin()) return values.front();
  if (next == boundaries.end()) return values.back();
  const auto i = static_cast<std::size_t>(next - boundaries.begin());
  const auto length = static_cast<double>(boundaries[i] - boundaries[i - 1]);
  const double part = static_cast<double>(s - boundaries[i - 1]) / length;
  return values[i] + (values[i - 1] - values[i]) * half_cosine(part);
}

void StepCosineConfig::validate(Diagnostics& diagnostics) const {
  if (boundaries.empty()) diagnostics.add("boundaries", "needs at least one step");
  if (values.size() != boundaries.size()) {
    diagnostics.add("values", "needs " + std::to_string(boundaries.size()) +
                                  " values, as many as boundaries; has " +
                                  std::to_string(values.size()));
  }
  check_rising(boundaries, diagnostics);
}

}  // namespace trivet::optim
