// SPDX-License-Identifier: Apache-2.0
// The contract of samplers, as checks for tests of any plugin's samplers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "plugins/search/study.h"

namespace trivet::test {

using SamplerMaker =
    std::function<std::unique_ptr<search::Sampler>(const search::SearchSpace&, std::int64_t, Goal)>;

template <class S>
SamplerMaker maker_of(typename S::Config config = {}) {
  return [config](const search::SearchSpace& space, std::int64_t seed, Goal goal) {
    return make_sampler<S>(config, space, seed, goal);
  };
}

inline std::string text_of(const search::SearchPoint& point) {
  std::string text;
  for (const auto& [path, value] : point) text += path + "=" + to_toml(value) + " ";
  return text;
}

// Simulates three workers: trials end out of order, some fail, one is slow.
inline std::vector<search::Trial> untidy_search(const search::Sampler& sampler, int trials) {
  std::vector<search::Trial> ended, running;
  for (int number = 0; number < trials; ++number) {
    std::vector<search::Trial> history = ended;
    history.insert(history.end(), running.begin(), running.end());
    running.push_back({.number = number, .point = sampler.ask(number, history)});
    if (running.size() < 3) continue;
    search::Trial trial = running[1];
    running.erase(running.begin() + 1);
    trial.value = mixed(trial.point);
    trial.state = number % 5 == 0 ? search::TrialState::failed : search::TrialState::complete;
    if (number % 7 == 0) trial.state = search::TrialState::stopped;
    if (number % 11 == 0) trial.value = std::numeric_limits<double>::quiet_NaN();
    ended.push_back(std::move(trial));
  }
  ended.insert(ended.end(), running.begin(), running.end());
  return ended;
}

// A sampler proposes the same points for the same history.
inline void check_resumes(const SamplerMaker& make) {
  const search::SearchSpace space = mixed_space();
  const auto history = run_search(*make(space, 3, Goal::min), mixed, 24);
  for (const std::size_t restart : {0u, 1u, 9u, 10u, 17u, 23u}) {
    const auto again = make(space, 3, Goal::min);
    const auto known = std::span(history).first(restart);
    CHECK(again->ask(static_cast<std::int64_t>(restart), known) == history[restart].point);
  }
}

// Maximizing equals minimizing the negative.
inline void check_goals(const SamplerMaker& make) {
  const search::SearchSpace space = mixed_space();
  const auto least = run_search(*make(space, 5, Goal::min), mixed, 20);
  const auto most = run_search(
      *make(space, 5, Goal::max), [](const search::SearchPoint& point) { return -mixed(point); },
      20);
  CHECK(least.back().point == most.back().point);
}

// Every proposed point is in the space, after any results.
inline void check_points_of_space(const SamplerMaker& make) {
  const search::SearchSpace space = mixed_space();
  for (const search::Trial& trial : untidy_search(*make(space, 7, Goal::min), 40)) {
    CHECK_NOTHROW(space.unit(trial.point));
  }
}

// Every proposed list is in the space, and lists differ.
inline void check_lists(const SamplerMaker& make) {
  Map<search::DimensionConfig> config;
  config["order"].permutate = std::vector<Value>{0, 1, 2, 3};
  config["set"].manyof = std::vector<Value>{"a", "b", "c", "d"};
  config["set"].num_choices = 2;
  config["set"].choices_sorted = true;
  const search::SearchSpace space(config);
  const auto misplaced = [](const search::SearchPoint& point) {
    double count = point[1].second.items()[0] == Value("a") ? 0 : 1;
    for (std::int64_t i = 0; i < 4; ++i) {
      count += point[0].second.items()[static_cast<std::size_t>(i)] == Value(i) ? 0 : 1;
    }
    return count;
  };
  std::set<std::string> points;
  for (const search::Trial& trial : run_search(*make(space, 7, Goal::min), misplaced, 30)) {
    CHECK_NOTHROW(space.unit(trial.point));
    points.insert(text_of(trial.point));
  }
  CHECK(points.size() > 5);
}

// Concurrent trials are at different points.
inline void check_parallel_points(const SamplerMaker& make) {
  const auto sampler = make(branin_space(), 1, Goal::min);
  std::vector<search::Trial> history = run_search(*sampler, branin, 15);
  std::set<std::string> points;
  for (int number = 15; number < 23; ++number) {
    history.push_back({.number = number, .point = sampler->ask(number, history)});
    points.insert(text_of(history.back().point));
  }
  CHECK(points.size() == 8);
}

// The mean over four seeds of the best of 40 trials on a space with one dimension of each kind.
inline double mean_best_on_mixed(const SamplerMaker& make) {
  double sum = 0;
  for (int seed = 0; seed < 4; ++seed) {
    sum += least_value(run_search(*make(mixed_space(), seed, Goal::min), mixed, 40));
  }
  return sum / 4;
}

// The median over twenty seeds of the best of 30 trials on Branin's function.
inline double median_best_on_branin(const SamplerMaker& make) {
  std::vector<double> best;
  for (int seed = 0; seed < 20; ++seed) {
    best.push_back(least_value(run_search(*make(branin_space(), seed, Goal::min), branin, 30)));
  }
  std::sort(best.begin(), best.end());
  return (best[9] + best[10]) / 2;
}

}  // namespace trivet::test
