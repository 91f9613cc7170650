// SPDX-License-Identifier: Apache-2.0
// search/Nsga2 on two objectives whose front is known: ZDT1 (Zitzler, Deb and Thiele 2000).
#include "search/samplers/nsga2.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "plugins/search/study.h"
#include "sampler_promises.h"
#include "search/samplers/random.h"
#include "search/samplers/tpe.h"
#include "trivet/search/pareto.h"

namespace nsga2_test {

using namespace trivet;
using namespace trivet::test;

namespace {

constexpr std::size_t kDimensions = 5;

search::SearchSpace cube() {
  Map<search::DimensionConfig> config;
  for (std::size_t d = 0; d < kDimensions; ++d) config["x" + std::to_string(d)].uniform = {0, 1};
  return search::SearchSpace(config);
}

// The least of both; the front is f2 = 1 - sqrt(f1), where all numbers but the first are 0.
std::vector<double> zdt1(const search::SearchPoint& point) {
  double rest = 0;
  for (std::size_t d = 1; d < point.size(); ++d) rest += number_of(point, d);
  const double g = 1 + 9 * rest / static_cast<double>(point.size() - 1);
  const double first = number_of(point, 0);
  return {first, g * (1 - std::sqrt(first / g))};
}

template <class S>
std::vector<std::vector<double>> results_of(std::int64_t seed, int trials) {
  search::SamplerContext context{
      .space = cube(), .goal = Goal::min, .seed = seed, .goals = {Goal::min, Goal::min}};
  const S sampler({}, context);
  std::vector<search::Trial> history;
  std::vector<std::vector<double>> results;
  for (int number = 0; number < trials; ++number) {
    search::SearchPoint point = sampler.ask(number, history);
    results.push_back(zdt1(point));
    history.push_back(complete_trial(number, std::move(point), results.back()[0]));
    history.back().values = results.back();
  }
  return results;
}

// The area that the front dominates below (1.1, 6), the larger the better.
double hypervolume(const std::vector<std::vector<double>>& results) {
  std::vector<std::vector<double>> front;
  const auto fronts = search::pareto_fronts(results, 1);
  for (const std::size_t row : fronts.front()) {
    front.push_back(results[row]);
  }
  std::sort(front.begin(), front.end());
  double area = 0, ceiling = 6;
  for (const auto& row : front) {
    if (row[0] > 1.1 || row[1] > ceiling) continue;
    area += (1.1 - row[0]) * (ceiling - row[1]);
    ceiling = row[1];
  }
  return area;
}

}  // namespace

TEST_CASE("Nsga2 comes nearer to the front of ZDT1 than random points") {
  double random = 0, nsga = 0;
  for (int seed = 0; seed < 3; ++seed) {
    random += hypervolume(results_of<search::Random>(seed, 200)) / 3;
    nsga += hypervolume(results_of<search::Nsga2>(seed, 200)) / 3;
  }
  // The whole front has 6.27.
  CAPTURE(random, nsga);
  CHECK(nsga > random + 0.5);
  CHECK(nsga > 5.8);
}

TEST_CASE("Nsga2 finds the whole front, not one end of it") {
  const auto results = results_of<search::Nsga2>(1, 200);
  const auto fronts = search::pareto_fronts(results, 1);
  double least = 1, most = 0;
  for (const std::size_t row : fronts.front()) {
    least = std::min(least, results[row][0]);
    most = std::max(most, results[row][0]);
  }
  CHECK(least < 0.1);
  CHECK(most > 0.6);
}

TEST_CASE("Nsga2 ignores trials that lack an objective") {
  search::SamplerContext context{
      .space = cube(), .goal = Goal::min, .seed = 1, .goals = {Goal::min, Goal::max}};
  search::Nsga2Config config;
  config.population = 2;
  const search::Nsga2 sampler(config, context);
  std::vector<search::Trial> history;
  for (int number = 0; number < 6; ++number) {
    history.push_back(complete_trial(number, sampler.ask(number, history), 1));
    if (number > 0) continue;
    history.back().values = {1, 2};
  }
  // All points are random as long as fewer than two trials have both.
  const search::Random random({}, context);
  for (int number = 0; number < 6; ++number) {
    CHECK(history[static_cast<std::size_t>(number)].point == random.ask(number, {}));
  }
}

TEST_CASE("Nsga2 tries other points than before, also in a space of a few") {
  Map<search::DimensionConfig> config;
  config["n"].int_ = {0, 9};
  config["kind"].choice = std::vector<Value>{"a", "b"};
  const search::SearchSpace space(config);
  search::Nsga2Config own;
  own.population = 4;
  const auto sampler = make_sampler<search::Nsga2>(own, space, 2);
  const auto history = run_search(
      *sampler, [](const search::SearchPoint& point) { return number_of(point, 0); }, 12);
  std::set<std::string> points;
  for (const search::Trial& trial : history) points.insert(text_of(trial.point));
  CHECK(points.size() >= 10);
}

}  // namespace nsga2_test
