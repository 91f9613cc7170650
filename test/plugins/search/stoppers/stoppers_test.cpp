// SPDX-License-Identifier: Apache-2.0
// Stoppers, on curves small enough to decide by hand.
#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/search/study.h"
#include "search/stoppers/asha.h"
#include "search/stoppers/by_rank.h"
#include "search/stoppers/by_value.h"
#include "search/stoppers/median.h"

using namespace trivet;
using Catch::Matchers::Contains;

namespace {

search::Trial curve(std::int64_t number, std::vector<search::Measurement> measurements,
                    search::TrialState state = search::TrialState::complete) {
  return {.number = number,
          .state = state,
          .point = {},
          .value = {},
          .measurements = std::move(measurements)};
}

template <class S>
S stopper(typename S::Config config, Goal goal = Goal::min) {
  search::StopperContext context{.goal = goal};
  return S(config, context);
}

search::Asha asha(std::int64_t min_steps, std::int64_t factor, Goal goal = Goal::min) {
  search::AshaConfig config;
  config.min_steps = min_steps;
  config.reduction_factor = factor;
  return stopper<search::Asha>(config, goal);
}

search::Median median(std::int64_t n_startup, std::int64_t warmup_steps = 0,
                      Goal goal = Goal::min) {
  search::MedianConfig config;
  config.n_startup = n_startup;
  config.warmup_steps = warmup_steps;
  return stopper<search::Median>(config, goal);
}

// Trials that have all been measured at step 10.
std::vector<search::Trial> at_step_10(const std::vector<double>& values) {
  std::vector<search::Trial> trials;
  for (const double value : values) {
    trials.push_back(curve(static_cast<std::int64_t>(trials.size()), {{10, value}},
                           search::TrialState::running));
  }
  return trials;
}

std::vector<std::int64_t> stopped_of(const search::Stopper& stopper,
                                     const std::vector<search::Trial>& trials) {
  std::vector<std::int64_t> stopped;
  for (const search::Trial& trial : trials) {
    if (stopper.should_stop(trial, trials)) stopped.push_back(trial.number);
  }
  return stopped;
}

}  // namespace

TEST_CASE("successive halving keeps one in three of a rung") {
  // Of seven floor(7 / 3) = 2 continue: 0.1 and 0.2.
  const auto trials = at_step_10({0.5, 0.1, 0.9, 0.2, 0.6, 0.3, 0.7});
  CHECK(stopped_of(asha(10, 3), trials) == std::vector<std::int64_t>{0, 2, 4, 5, 6});
  CHECK(stopped_of(asha(10, 3, Goal::max), trials) == std::vector<std::int64_t>{0, 1, 3, 4, 5});
  CHECK(*asha(10, 3).should_stop(trials[5], trials) ==
        "rung 10: 0.3 is rank 3 of 7 trials, and 2 continue");
  CHECK(*asha(10, 3, Goal::max).should_stop(trials[3], trials) ==
        "rung 10: 0.2 is rank 6 of 7 trials, and 2 continue");
}

TEST_CASE("successive halving passes the first trial at a rung, then better ones") {
  CHECK(stopped_of(asha(10, 3), at_step_10({0.5})).empty());
  CHECK(stopped_of(asha(10, 3), at_step_10({0.5, 0.6})) == std::vector<std::int64_t>{1});
  CHECK(stopped_of(asha(10, 3), at_step_10({0.5, 0.4})) == std::vector<std::int64_t>{0});
  CHECK(stopped_of(asha(10, 3), at_step_10({0.5, 0.5, 0.5})).empty());  // equals share the rank
}

TEST_CASE("no trial stops before the first rung") {
  CHECK(stopped_of(asha(11, 3), at_step_10({0.5, 0.4, 0.3})).empty());
}

TEST_CASE("a trial is judged at the highest rung it reached, with its first result there") {
  // Rungs 10, 30, 90. Trial 0 is the worst at rung 10 and the best of two at rung 30.
  const std::vector<search::Trial> trials = {
      curve(0, {{10, 0.9}, {35, 0.2}, {60, 0.8}}, search::TrialState::running),
      curve(1, {{10, 0.5}, {29, 0.1}}, search::TrialState::running),
      curve(2, {{10, 0.4}, {30, 0.3}}, search::TrialState::stopped),
      curve(3, {{10, 0.3}}, search::TrialState::failed),
  };
  const auto rule = asha(10, 3);
  CHECK_FALSE(rule.should_stop(trials[0], trials));
  CHECK_THAT(*rule.should_stop(trials[1], trials), Contains("rung 10: 0.5 is rank 3 of 4"));
  CHECK_THAT(*rule.should_stop(trials[2], trials), Contains("rung 30: 0.3 is rank 2 of 2"));
}

TEST_CASE("a number that is not finite is the worst of a rung") {
  CHECK(stopped_of(asha(10, 2), at_step_10({NAN, 0.5, INFINITY, 0.6})) ==
        std::vector<std::int64_t>{0, 2});
  CHECK(stopped_of(asha(10, 2, Goal::max), at_step_10({NAN, 0.5, INFINITY, 0.6})) ==
        std::vector<std::int64_t>{0, 2});
}

TEST_CASE("the median rule compares the best so far with the others' means so far") {
  // Means up to step 20: 0.7, 0.5, 0.3. Their median is 0.5.
  std::vector<search::Trial> trials = {
      curve(0, {{10, 0.8}, {20, 0.6}, {30, 0.1}}),
      curve(1, {{10, 0.6}, {20, 0.4}, {30, 0.3}}),
      curve(2, {{10, 0.4}, {20, 0.2}, {30, 0.2}}),
  };
  const auto verdict = [&](double first, double second) {
    const search::Trial trial = curve(9, {{10, first}, {20, second}}, search::TrialState::running);
    return median(3).should_stop(trial, trials);
  };
  CHECK_FALSE(verdict(0.9, 0.5));
  CHECK_FALSE(verdict(0.45, 0.9));
  REQUIRE(verdict(0.51, 0.9));
  CHECK(*verdict(0.51, 0.9) ==
        "step 20: its best, 0.51, is worse than 0.5, the median of 3 trials");
}

TEST_CASE("the median rule knows which way is better") {
  const std::vector<search::Trial> trials = {curve(0, {{10, 0.8}}), curve(1, {{10, 0.6}})};
  const search::Trial low = curve(9, {{10, 0.69}}, search::TrialState::running);
  const search::Trial high = curve(9, {{10, 0.71}}, search::TrialState::running);
  // The median of two is the mean of both, 0.7.
  CHECK_FALSE(median(2).should_stop(low, trials));
  CHECK(median(2).should_stop(high, trials));
  CHECK(median(2, 0, Goal::max).should_stop(low, trials));
  CHECK_FALSE(median(2, 0, Goal::max).should_stop(high, trials));
}

TEST_CASE("the median rule waits for trials that ended and came as far, and for the warm-up") {
  std::vector<search::Trial> trials = {
      curve(0, {{10, 0.1}, {20, 0.1}}),
      curve(1, {{10, 0.1}}),                                          // did not reach the step
      curve(2, {{10, 0.1}, {20, 0.1}}, search::TrialState::running),  // may yet change
      curve(3, {{10, 0.1}, {20, 0.1}}, search::TrialState::failed),
      curve(9, {{10, 0.9}, {20, 0.9}}, search::TrialState::running),
  };
  CHECK(median(1).should_stop(trials[4], trials));
  CHECK_FALSE(median(2).should_stop(trials[4], trials));
  trials[1].measurements.push_back({25, 0.1});
  CHECK(median(2).should_stop(trials[4], trials));
  CHECK_FALSE(median(2, 21).should_stop(trials[4], trials));
  CHECK(median(2, 20).should_stop(trials[4], trials));
  CHECK_FALSE(median(1).should_stop(curve(9, {}, search::TrialState::running), trials));
}

TEST_CASE("a trial stops that is worse than the threshold of a step that it has reached") {
  search::ByValueConfig config;
  config.step_values = {{.step = 10, .value = 0.5}, {.step = 30, .value = 0.3}};
  const auto low = stopper<search::ByValue>(config),
             high = stopper<search::ByValue>(config, Goal::max);
  const auto stops = [](const search::Stopper& rule, std::vector<search::Measurement> points) {
    return rule.should_stop(curve(0, std::move(points), search::TrialState::running), {});
  };
  CHECK_FALSE(stops(low, {}));
  CHECK_FALSE(stops(low, {{9, 0.9}}));
  CHECK_FALSE(stops(low, {{10, 0.5}}));
  CHECK(*stops(low, {{10, 0.6}}) == "step 10: 0.6 is worse than 0.5");
  CHECK_FALSE(stops(high, {{10, 0.6}}));
  CHECK(*stops(high, {{10, 0.4}}) == "step 10: 0.4 is worse than 0.5");
  // The first measurement at 10 or later counts, not a later one.
  CHECK_FALSE(stops(low, {{12, 0.4}, {20, 0.9}}));
  CHECK(*stops(low, {{12, 0.4}, {31, 0.35}}) == "step 30: 0.35 is worse than 0.3");
  CHECK(stops(low, {{10, NAN}}));
  CHECK(stops(high, {{10, INFINITY}}));
}

TEST_CASE("a trial stops that is worse than the other one of a rank") {
  const auto by_rank = [](const search::StepRankConfig& rule, Goal goal = Goal::min) {
    search::ByRankConfig config;
    config.step_ranks = {rule};
    return stopper<search::ByRank>(config, goal);
  };
  const auto trials = at_step_10({0.5, 0.1, 0.9, 0.2, 0.6});
  using Numbers = std::vector<std::int64_t>;
  // Trial 1 and 3 are the best two. The best other one of trial 1 is 0.2.
  CHECK(stopped_of(by_rank({.step = 10, .rank = 1}), trials) == Numbers{0, 2, 3, 4});
  CHECK(stopped_of(by_rank({.step = 10, .rank = 2}), trials) == Numbers{0, 2, 4});
  CHECK(stopped_of(by_rank({.step = 10, .rank = 4}), trials) == Numbers{2});
  CHECK(stopped_of(by_rank({.step = 10, .rank = 5}), trials).empty());
  CHECK(stopped_of(by_rank({.step = 10, .rank = 2}, Goal::max), trials) == Numbers{0, 1, 3});
  // Four others: rank 1 + floor(3 f).
  CHECK(stopped_of(by_rank({.step = 10, .fraction = 0}), trials) == Numbers{0, 2, 3, 4});
  CHECK(stopped_of(by_rank({.step = 10, .fraction = 0.5}), trials) == Numbers{0, 2, 4});
  CHECK(stopped_of(by_rank({.step = 10, .fraction = 1}), trials) == Numbers{2});
  CHECK(stopped_of(by_rank({.step = 10, .rank = 1, .min_histogram_size = 4}), trials).size() == 4);
  CHECK(stopped_of(by_rank({.step = 10, .rank = 1, .min_histogram_size = 5}), trials).empty());
  CHECK(stopped_of(by_rank({.step = 11, .rank = 1}), trials).empty());
  CHECK(stopped_of(by_rank({.step = 10, .rank = 1}), at_step_10({0.5, 0.5})).empty());
  CHECK(*by_rank({.step = 10, .rank = 2}).should_stop(trials[4], trials) ==
        "step 10: 0.6 is worse than 0.2, rank 2 of 4 others");
}

TEST_CASE("a rank is compared at the last step that the trial has reached") {
  search::ByRankConfig config;
  config.step_ranks = {{.step = 10, .rank = 1}, {.step = 20, .rank = 1}};
  const std::vector<search::Trial> trials = {curve(0, {{10, 0.9}, {20, 0.1}}),
                                             curve(1, {{10, 0.5}, {25, 0.2}})};
  CHECK(stopped_of(stopper<search::ByRank>(config), trials) == std::vector<std::int64_t>{1});
}

TEST_CASE("rules of stoppers that are missing or contradictory are refused by path") {
  const auto problem = [](const auto& config) {
    Diagnostics diagnostics;
    config.validate(diagnostics);
    if (diagnostics.list().empty()) return std::string("none");
    return diagnostics.list()[0].path + ": " + diagnostics.list()[0].what;
  };
  search::ByValueConfig by_value;
  CHECK(problem(by_value) == "step_values: is empty, so no trial would stop");
  by_value.step_values = {{.step = 10, .value = 1}, {.step = 10, .value = 2}};
  CHECK(problem(by_value) == "step_values[1].step: is not after the step before it");
  by_value.step_values = {{.step = 10, .value = NAN}};
  CHECK(problem(by_value) == "step_values[0].value: is not finite");
  search::ByRankConfig by_rank;
  CHECK(problem(by_rank) == "step_ranks: is empty, so no trial would stop");
  by_rank.step_ranks = {{.step = 10, .rank = 1}, {.step = 5, .rank = 1}};
  CHECK(problem(by_rank) == "step_ranks[1].step: is not after the step before it");
  CHECK(problem(search::StepRankConfig{.step = 1}) == "rank: neither rank nor fraction is set");
  CHECK(problem(search::StepRankConfig{.step = 1, .rank = 1, .fraction = 0.5}) ==
        "rank: is set, and fraction is, too");
  for (const char* field : {"rank", "min_histogram_size"}) {
    CHECK_THROWS_WITH(decode<search::StepRankConfig>(Value::table({{"step", 1}, {field, 0}}), "r"),
                      Contains(std::string("r.") + field));
  }
  CHECK_THROWS_WITH(
      decode<search::StepRankConfig>(Value::table({{"step", 1}, {"fraction", 1.5}}), "r"),
      Contains("r.fraction"));
}
