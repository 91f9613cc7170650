// SPDX-License-Identifier: Apache-2.0
#include "schedules.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

namespace trivet::optim {
namespace {

double steps_after(std::int64_t offset, std::int64_t step) {
  return static_cast<double>(std::max<std::int64_t>(step - offset, 0));
}

// How much of the decay is done, in [0, 1].
template <class Config>
double done(const Config& config, std::int64_t step) {
  const auto length = static_cast<double>(config.decay_steps);
  return std::min(steps_after(config.offset, step), length) / length;
}

}  // namespace

Constant::Constant(const Config& config) : Warmed(config.warmup), config_(config) {}

double Constant::plain(std::int64_t) const {
  return config_.value;
}

Linear::Linear(const Config& config) : Warmed(config.warmup), config_(config) {}

double Linear::plain(std::int64_t step) const {
  // In this form the ends are exact.
  const double part = done(config_, step);
  return (1 - part) * config_.initial_value + part * config_.final_value;
}

Cosine::Cosine(const Config& config) : Warmed(config.warmup), config_(config) {}

double Cosine::plain(std::int64_t step) const {
  const double left = (1 + std::cos(std::numbers::pi * done(config_, step))) / 2;
  return config_.final_value + (config_.initial_value - config_.final_value) * left;
}

Exponential::Exponential(const Config& config) : Warmed(config.warmup), config_(config) {}

double Exponential::plain(std::int64_t step) const {
  double exponent = steps_after(config_.offset, step) / static_cast<double>(config_.decay_steps);
  if (config_.staircase) exponent = std::floor(exponent);
  return std::max(config_.minimum, config_.initial_value * std::pow(config_.decay_rate, exponent));
}

Polynomial::Polynomial(const Config& config) : Warmed(config.warmup), config_(config) {}

double Polynomial::plain(std::int64_t step) const {
  const double s = steps_after(config_.offset, step);
  auto length = static_cast<double>(config_.decay_steps);
  if (config_.cycle) length *= std::max(1.0, std::ceil(s / length));
  const double left = 1 - std::min(s, length) / length;
  return config_.final_value +
         (config_.initial_value - config_.final_value) * std::pow(left, config_.power);
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

Piecewise::Piecewise(const Config& config) : Warmed(config.warmup), config_(config) {}

double Piecewise::plain(std::int64_t step) const {
  const auto& boundaries = config_.boundaries;
  const std::int64_t s = std::max<std::int64_t>(step - config_.offset, 0);
  const auto next = std::upper_bound(boundaries.begin(), boundaries.end(), s);
  return config_.values[static_cast<std::size_t>(next - boundaries.begin())];
}

}  // namespace trivet::optim
