// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of a search: spaces, samplers made as by the registry, and a loop that asks,
// measures and records.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numbers>
#include <vector>

#include "trivet/search/sampler.h"

namespace trivet::test {

using Function = std::function<double(const search::SearchPoint&)>;

inline double number_of(const search::SearchPoint& point, std::size_t index) {
  return point[index].second.as_float();
}

// Branin's function: three minima of 0.397887.
inline double branin(const search::SearchPoint& point) {
  constexpr double kPi = std::numbers::pi;
  const double x = number_of(point, 0);
  const double y = number_of(point, 1);
  const double bend = y - 5.1 / (4 * kPi * kPi) * x * x + 5 / kPi * x - 6;
  return bend * bend + 10 * (1 - 1 / (8 * kPi)) * std::cos(x) + 10;
}

inline search::SearchSpace branin_space() {
  Map<search::DimensionConfig> config;
  config["x"].uniform = {-5, 10};
  config["y"].uniform = {0, 15};
  return search::SearchSpace(config);
}

// One dimension of each kind.
inline search::SearchSpace mixed_space() {
  Map<search::DimensionConfig> config;
  config["lr"].log_uniform = {1e-5, 1};
  config["dropout"].uniform = {0, 0.5};
  config["layers"].int_ = {1, 5};
  config["width"].log_int = {8, 512};
  config["activation"].choice = std::vector<Value>{"relu", "gelu", "tanh"};
  config["norm"].choice = std::vector<Value>{true, false};
  return search::SearchSpace(config);
}

// Least (-4) at lr = 0.01, dropout = 0.1, layers = 3, width = 64, gelu, with norm.
inline double mixed(const search::SearchPoint& point) {
  const double lr = std::log10(number_of(point, 0)) + 2;
  const double dropout = 4 * (number_of(point, 1) - 0.1);
  const double layers = (number_of(point, 2) - 3) / 2;
  const double width = (std::log2(number_of(point, 3)) - 6) / 3;
  const double gelu = point[4].second == Value("gelu") ? -2 : 0;
  const double norm = point[5].second == Value(true) ? -2 : 0;
  return lr * lr + dropout * dropout + layers * layers + width * width + gelu + norm;
}

template <class S>
std::unique_ptr<search::Sampler> make_sampler(const typename S::Config& config,
                                              const search::SearchSpace& space, std::int64_t seed,
                                              Goal goal = Goal::min) {
  search::SamplerContext context{.space = space, .goal = goal, .seed = seed};
  return std::make_unique<S>(config, context);
}

inline search::Trial complete_trial(std::int64_t number, search::SearchPoint point, double value) {
  return {.number = number,
          .state = search::TrialState::complete,
          .point = std::move(point),
          .value = value,
          .measurements = {}};
}

// Runs trials one at a time.
inline std::vector<search::Trial> run_search(const search::Sampler& sampler,
                                             const Function& function, int trials) {
  std::vector<search::Trial> history;
  for (int number = 0; number < trials; ++number) {
    search::SearchPoint point = sampler.ask(number, history);
    const double value = function(point);
    history.push_back(complete_trial(number, std::move(point), value));
  }
  return history;
}

inline double least_value(const std::vector<search::Trial>& history) {
  double least = *history.front().value;
  for (const search::Trial& trial : history) least = std::min(least, *trial.value);
  return least;
}

}  // namespace trivet::test
