// SPDX-License-Identifier: Apache-2.0
// The tree-structured Parzen estimator: how trials are split, and its densities.
#include "search/samplers/tpe.h"

#include <cmath>
#include <numeric>

#include <catch2/catch.hpp>

#include "plugins/search/study.h"

using namespace trivet;
using namespace trivet::test;
using search::ParzenEstimator;
using search::TpeConfig;

namespace {

search::Dimension numbers() {
  return search::Dimension("x", {.uniform = std::vector<double>{0, 1}});
}
search::Dimension integers(std::int64_t low, std::int64_t high) {
  return search::Dimension("x", {.int_ = std::vector<std::int64_t>{low, high}});
}

ParzenEstimator estimator(const search::Dimension& dimension,
                          const std::vector<double>& observations) {
  std::vector<std::vector<double>> rows;
  for (const double x : observations) rows.push_back({x});
  return {{&dimension}, rows, search::tpe_weights(rows.size()), 1.0};
}

search::Trial ended(std::int64_t number, search::TrialState state, double value,
                    std::int64_t step = 0) {
  search::Trial trial = complete_trial(number, {}, value);
  trial.state = state;
  if (step > 0) trial.measurements = {{step, value}};
  return trial;
}

// The midpoint rule over the unit line.
double integral(const ParzenEstimator& density) {
  constexpr int kCells = 20000;
  double sum = 0;
  for (int i = 0; i < kCells; ++i) {
    sum += std::exp(density.log_density(std::vector<double>{(i + 0.5) / kCells}));
  }
  return sum / kCells;
}

}  // namespace

TEST_CASE("a part of the trials counts as the best, rounded up and bounded") {
  TpeConfig config;
  config.gamma = 0.1;
  CHECK(search::tpe_below(1, config) == 1);
  CHECK(search::tpe_below(10, config) == 1);
  CHECK(search::tpe_below(11, config) == 2);
  CHECK(search::tpe_below(200, config) == 20);
  CHECK(search::tpe_below(300, config) == 25);
  config.gamma = 0.25;
  config.max_below = 4;
  CHECK(search::tpe_below(13, config) == 4);
  CHECK(search::tpe_below(100, config) == 4);
}

TEST_CASE("complete trials come first, then stopped, failed and running ones") {
  const std::vector<search::Trial> history = {
      ended(0, search::TrialState::complete, 3),      ended(1, search::TrialState::failed, 0),
      ended(2, search::TrialState::stopped, 1, 10),   ended(3, search::TrialState::complete, 2),
      ended(4, search::TrialState::stopped, 5, 20),   ended(5, search::TrialState::complete, NAN),
      ended(6, search::TrialState::stopped, 0.5, 10), ended(7, search::TrialState::running, 0),
  };
  // Five of them have a result: 3, 0, 4 (it has more steps), 6, 2.
  TpeConfig config;
  config.gamma = 0.5;
  const search::TpeSplit half = search::tpe_split(history, Goal::min, config);
  CHECK(half.below == std::vector<std::size_t>{0, 3, 4});
  CHECK(half.above == std::vector<std::size_t>{1, 2, 5, 6, 7});
  config.gamma = 0.7;
  CHECK(search::tpe_split(history, Goal::min, config).below ==
        std::vector<std::size_t>{0, 3, 4, 6});
  config.gamma = 0.2;
  CHECK(search::tpe_split(history, Goal::min, config).below == std::vector<std::size_t>{3});
  CHECK(search::tpe_split(history, Goal::max, config).below == std::vector<std::size_t>{0});
}

TEST_CASE("the newest 25 observations weigh 1, older ones linearly less") {
  CHECK(search::tpe_weights(25) == std::vector<double>(25, 1.0));
  const auto weights = search::tpe_weights(30);
  REQUIRE(weights.size() == 30);
  // From 1/30 to 1 in five equal steps.
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(weights[i] == Approx(1.0 / 30 + static_cast<double>(i) / 4 * (29.0 / 30)));
  }
  CHECK(std::accumulate(weights.begin() + 5, weights.end(), 0.0) == 25);
}

TEST_CASE("a kernel is as wide as the way to its farther neighbor") {
  // Positions 0, 0.2, 0.5, 0.6, 1: the larger distances are 0.3 and 0.4; the least width is 1/3.
  const auto widths = search::neighbor_widths(std::vector<double>{0.6, 0.2});
  CHECK(widths[0] == Approx(0.4));
  CHECK(widths[1] == Approx(1.0 / 3));
  // Nine at one location: the first looks back to 0, the last on to 0.5, the others have distance
  // 0.
  const auto crowd = search::neighbor_widths(std::vector<double>(9, 0.3));
  CHECK(crowd[0] == Approx(0.3));
  CHECK(crowd[8] == Approx(0.2));
  for (std::size_t i = 1; i < 8; ++i) CHECK(crowd[i] == Approx(0.1));
  CHECK(search::scott_width(32, 1) == Approx(0.2 * 0.5));  // 32^(-1/5)
  CHECK(search::scott_width(1, 3) == Approx(0.5));         // the least, 1 / (n + 1)
}

TEST_CASE("a density of numbers adds up to one and is highest where observations are") {
  const search::Dimension x = numbers();
  const ParzenEstimator density = estimator(x, {0.7, 0.71, 0.72, 0.69, 0.7});
  CHECK(integral(density) == Approx(1).margin(1e-6));
  CHECK(density.log_density(std::vector<double>{0.7}) >
        density.log_density(std::vector<double>{0.3}));
  CHECK(integral(estimator(x, {})) == Approx(1).margin(1e-6));
}

TEST_CASE("a density without observations is the prior, cut off at the ends") {
  // exp(0) / (sqrt(2 pi) (F(1/2) - F(-1/2))) with F(1/2) = 0.6914625
  const search::Dimension x = numbers();
  CHECK(std::exp(estimator(x, {}).log_density(std::vector<double>{0.5})) ==
        Approx(0.3989423 / 0.3829249).epsilon(1e-6));
}

TEST_CASE("the probabilities of integers add up to one") {
  const search::Dimension x = integers(1, 7);
  const ParzenEstimator density = estimator(x, {x.unit(2), x.unit(2), x.unit(6)});
  double sum = 0;
  for (int value = 1; value <= 7; ++value) {
    sum += std::exp(density.log_density(std::vector<double>{x.unit(value)}));
  }
  CHECK(sum == Approx(1));
  CHECK(density.log_density(std::vector<double>{x.unit(2)}) >
        density.log_density(std::vector<double>{x.unit(4)}));
}

TEST_CASE("the probabilities of choices are counts with pseudo-counts") {
  // Kernels (3 [same] + 1) / 6, the prior 1/3, a quarter each: a has 4/6 + 4/6 + 1/6 + 2/6.
  const search::Dimension x("x", {.choice = std::vector<Value>{"a", "b", "c"}});
  const ParzenEstimator density = estimator(x, {x.unit("a"), x.unit("a"), x.unit("b")});
  const auto probability = [&](const char* value) {
    return std::exp(density.log_density(std::vector<double>{x.unit(value)}));
  };
  CHECK(probability("a") == Approx(11.0 / 24));
  CHECK(probability("b") == Approx(8.0 / 24));
  CHECK(probability("c") == Approx(5.0 / 24));
}

TEST_CASE("draws follow their density") {
  const search::Dimension letter("x", {.choice = std::vector<Value>{"a", "b", "c"}});
  const search::Dimension x = numbers();
  const ParzenEstimator letters =
      estimator(letter, {letter.unit("a"), letter.unit("a"), letter.unit("b")});
  const ParzenEstimator line = estimator(x, {0.1, 0.2, 0.15});
  search::RandomStream draws{RngKey(5)};
  constexpr int kDraws = 4000;
  int a = 0, low = 0;
  for (int i = 0; i < kDraws; ++i) {
    a += letter.value(letters.draw(draws)[0]) == Value("a");
    low += line.draw(draws)[0] < 0.5;
  }
  double below_half = 0;
  for (int i = 0; i < 500; ++i) {
    below_half += std::exp(line.log_density(std::vector<double>{(i + 0.5) / 1000})) / 1000;
  }
  // Five standard deviations of a mean of 4000 are 0.04.
  CHECK(a / double{kDraws} == Approx(11.0 / 24).margin(0.04));
  CHECK(low / double{kDraws} == Approx(below_half).margin(0.04));
}

TEST_CASE("joint densities model interactions") {
  // Good where both are low or both are high: neither coordinate alone is informative.
  const search::Dimension x = numbers(), y = numbers();
  const ParzenEstimator joint({&x, &y}, {{0.1, 0.1}, {0.9, 0.9}}, {1, 1}, 0.1);
  const std::vector<double> together = {0.1, 0.1}, apart = {0.1, 0.9};
  CHECK(joint.log_density(together) > joint.log_density(apart) + 1);
}
