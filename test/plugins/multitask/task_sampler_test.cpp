// SPDX-License-Identifier: Apache-2.0
// The samplers of interleaved training: probabilities worked out by hand from the formulas in
// task_sampler.h, and draws that follow them.
#include "multitask/task_sampler.h"

#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

namespace multitask_sampler_test {

using trivet::multitask::SamplerConfig;
using trivet::multitask::Sampling;
using trivet::multitask::TaskSampler;

namespace {

void check(const std::vector<double>& values, const std::vector<double>& expected) {
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == Approx(expected[i]));
}

}  // namespace

TEST_CASE("a uniform sampler ignores weights") {
  const TaskSampler sampler({.method = Sampling::uniform}, {1, 2, 5});
  check(sampler.probabilities(0), {1 / 3.0, 1 / 3.0, 1 / 3.0});
}

TEST_CASE("a proportional sampler raises weights to alpha") {
  const std::vector<double> weights{1, 2, 5};
  check(TaskSampler({}, weights).probabilities(7), {0.125, 0.25, 0.625});
  check(TaskSampler({.alpha = 2}, weights).probabilities(7), {1 / 30.0, 4 / 30.0, 25 / 30.0});
  check(TaskSampler({.alpha = 0}, weights).probabilities(7), {1 / 3.0, 1 / 3.0, 1 / 3.0});
}

TEST_CASE("annealing goes from above proportional to nearly uniform, epoch by epoch") {
  // 4 epochs of 5 steps: the exponent is 1 - 0.8 (epoch - 1) / 3, so 1.2667, 1, 0.7333, 0.4667 and
  // from the end on 0.2.
  const TaskSampler sampler({.method = Sampling::annealing}, {1, 4});
  const auto expected = [](double exponent) {
    const double second = std::pow(4, exponent);
    return std::vector<double>{1 / (1 + second), second / (1 + second)};
  };
  check(sampler.probabilities(0), {0.14729543, 0.85270457});  // 4^1.266667 = 5.789077
  check(sampler.probabilities(4), expected(1.0 + 0.8 / 3));
  check(sampler.probabilities(5), {0.2, 0.8});
  check(sampler.probabilities(10), expected(1.0 - 0.8 / 3));
  check(sampler.probabilities(19), expected(1.0 - 1.6 / 3));
  check(sampler.probabilities(20), expected(0.2));
  check(sampler.probabilities(1000), expected(0.2));
}

TEST_CASE("draws follow the probabilities, and depend on seed and step alone") {
  const SamplerConfig config{.seed = 3};
  const TaskSampler sampler(config, {1, 2, 5}), same(config, {1, 2, 5});
  std::vector<int> drawn(3);
  for (std::int64_t step = 0; step < 8000; ++step) {
    const std::size_t task = sampler.draw(step);
    REQUIRE(task == same.draw(step));
    ++drawn[task];
  }
  // Four standard deviations of a binomial of 8000 are at most 4 sqrt(8000 / 4) = 179.
  CHECK(drawn[0] == Approx(1000).margin(179));
  CHECK(drawn[1] == Approx(2000).margin(179));
  CHECK(drawn[2] == Approx(5000).margin(179));
  int differ = 0;
  const TaskSampler other({.seed = 4}, {1, 2, 5});
  for (std::int64_t step = 0; step < 100; ++step) differ += other.draw(step) != sampler.draw(step);
  CHECK(differ > 0);
}

}  // namespace multitask_sampler_test
