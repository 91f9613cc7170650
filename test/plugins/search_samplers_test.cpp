// SPDX-License-Identifier: Apache-2.0
// What every sampler promises, on a space with one dimension of each kind.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <limits>
#include <set>
#include <string>

#include "search/cma_es.h"
#include "search/gaussian_process.h"
#include "search/random.h"
#include "search/sobol.h"
#include "search/tpe.h"
#include "search_study.h"

using namespace trivet;
using namespace trivet::test;

namespace {

using Maker = std::function<std::unique_ptr<Sampler>(const SearchSpace&, std::int64_t, Goal)>;

template <class S>
Maker maker_of(typename S::Config config = {}) {
  return [config](const SearchSpace& space, std::int64_t seed, Goal goal) {
    return make_sampler<S>(config, space, seed, goal);
  };
}

struct Named {
  std::string name;
  Maker make;
};

std::vector<Named> all_samplers() {
  search::TpeConfig apart;
  apart.multivariate = false;
  return {{"Random", maker_of<search::Random>()},
          {"Sobol", maker_of<search::Sobol>()},
          {"Tpe", maker_of<search::Tpe>()},
          {"Tpe, dimensions apart", maker_of<search::Tpe>(apart)},
          {"CmaEs", maker_of<search::CmaEs>()},
          {"GaussianProcess", maker_of<search::GaussianProcess>()}};
}

std::string text_of(const SearchPoint& point) {
  std::string text;
  for (const auto& [path, value] : point) text += path + "=" + to_toml(value) + " ";
  return text;
}

// What three workers do: trials end out of order, some fail, one of them stays behind.
std::vector<Trial> untidy_search(const Sampler& sampler, int trials) {
  std::vector<Trial> ended, running;
  for (int number = 0; number < trials; ++number) {
    std::vector<Trial> history = ended;
    history.insert(history.end(), running.begin(), running.end());
    running.push_back({.number = number, .point = sampler.ask(number, history)});
    if (running.size() < 3) continue;
    Trial trial = running[1];
    running.erase(running.begin() + 1);
    trial.value = mixed(trial.point);
    trial.state = number % 5 == 0 ? TrialState::failed : TrialState::complete;
    if (number % 7 == 0) trial.state = TrialState::stopped;
    if (number % 11 == 0) trial.value = std::numeric_limits<double>::quiet_NaN();
    ended.push_back(std::move(trial));
  }
  ended.insert(ended.end(), running.begin(), running.end());
  return ended;
}

}  // namespace

TEST_CASE("a sampler that gets the history anew asks for the same points") {
  const SearchSpace space = mixed_space();
  for (const auto& [name, make] : all_samplers()) {
    INFO(name);
    const auto history = run_search(*make(space, 3, Goal::min), mixed, 24);
    for (const std::size_t restart : {0u, 1u, 9u, 10u, 17u, 23u}) {
      const auto again = make(space, 3, Goal::min);
      const auto known = std::span(history).first(restart);
      CHECK(again->ask(static_cast<std::int64_t>(restart), known) == history[restart].point);
    }
  }
}

TEST_CASE("another seed gives another search") {
  const SearchSpace space = mixed_space();
  for (const auto& [name, make] : all_samplers()) {
    INFO(name);
    CHECK(make(space, 1, Goal::min)->ask(0, {}) != make(space, 2, Goal::min)->ask(0, {}));
  }
}

TEST_CASE("searching for the most is searching for the least of the negative") {
  const SearchSpace space = mixed_space();
  for (const auto& [name, make] : all_samplers()) {
    INFO(name);
    const auto least = run_search(*make(space, 5, Goal::min), mixed, 20);
    const auto most = run_search(
        *make(space, 5, Goal::max), [](const SearchPoint& point) { return -mixed(point); }, 20);
    CHECK(least.back().point == most.back().point);
  }
}

TEST_CASE("every point asked for is one of the space, whatever became of the trials before") {
  const SearchSpace space = mixed_space();
  for (const auto& [name, make] : all_samplers()) {
    INFO(name);
    for (const Trial& trial : untidy_search(*make(space, 7, Goal::min), 40)) {
      CHECK_NOTHROW(space.unit(trial.point));
    }
  }
}

TEST_CASE("trials that run at the same time are at different points") {
  const SearchSpace space = branin_space();
  for (const auto& [name, make] : all_samplers()) {
    INFO(name);
    const auto sampler = make(space, 1, Goal::min);
    std::vector<Trial> history = run_search(*sampler, branin, 15);
    std::set<std::string> points;
    for (int number = 15; number < 23; ++number) {
      history.push_back({.number = number, .point = sampler->ask(number, history)});
      points.insert(text_of(history.back().point));
    }
    CHECK(points.size() == 8);
  }
}

TEST_CASE(
    "the samplers that learn come nearer to the optimum of a mixed space than random points") {
  const SearchSpace space = mixed_space();
  constexpr int kTrials = 40;
  const auto mean_best = [&](const Maker& make) {
    double sum = 0;
    for (int seed = 0; seed < 4; ++seed) {
      sum += least_value(run_search(*make(space, seed, Goal::min), mixed, kTrials));
    }
    return sum / 4;
  };
  const double random = mean_best(maker_of<search::Random>());
  CHECK(mean_best(maker_of<search::Tpe>()) < random);
  CHECK(mean_best(maker_of<search::CmaEs>()) < random);
  CHECK(mean_best(maker_of<search::GaussianProcess>()) < random);
}

TEST_CASE("a history with a point of another space is refused by key") {
  const auto history = run_search(*make_sampler<search::Random>({}, branin_space(), 1), branin, 12);
  const auto tpe = make_sampler<search::Tpe>({}, mixed_space(), 1);
  CHECK_THROWS_WITH(tpe->ask(12, history), Catch::Matchers::Contains("lr: "));
}
