// SPDX-License-Identifier: Apache-2.0
// The value of a trial, from curves small enough to decide by hand.
#include "search/study/trial_value.h"

#include <cmath>

#include <catch2/catch.hpp>

namespace trial_value_test {

using namespace trivet;
using namespace trivet::search;
using Curve = std::vector<Measurement>;
using Values = std::vector<double>;

TrialValue::Outcome outcome(const std::vector<std::string>& objectives, const ValueRule& rule,
                            const std::vector<Curve>& curves) {
  const TrialValue value(objectives, rule);
  REQUIRE(value.followed().size() == curves.size());
  return value.of(TrialValue::Curves(curves.begin(), curves.end()));
}

ValueRule best_of(std::vector<Goal> goals, const std::string& metric = {},
                  std::optional<Goal> goal = {}) {
  return {.goals = std::move(goals),
          .value_of = {.at = ValueAt::best, .last_n = {}, .metric = metric, .goal = goal}};
}

ValueRule mean_of(std::optional<std::int64_t> last_n = {}) {
  return {.value_of = {.at = ValueAt::mean, .last_n = last_n, .metric = {}, .goal = {}}};
}

TEST_CASE("the last value of a trial is that of each objective") {
  CHECK(outcome({"a"}, {}, {{{10, 3}, {20, 1}, {30, 2}}}).values == Values{2});
  CHECK(outcome({"a", "train/b"}, {}, {{{10, 3}, {20, 1}}, {{10, 5}, {25, 4}}}).values ==
        Values{1, 4});
}

TEST_CASE("the best value of a trial is that of the latest of its best steps") {
  const Curve curve = {{10, 3}, {20, 1}, {30, 5}, {40, 1}, {50, 2}};
  CHECK(outcome({"a"}, best_of({Goal::min}), {curve}).values == Values{1});
  CHECK(outcome({"a"}, best_of({Goal::max}), {curve}).values == Values{5});
  // The step is that where b is least: 20 and 40, of which 40 counts.
  const Curve other = {{10, 0.1}, {20, 0.2}, {30, 0.3}, {40, 0.4}, {50, 0.5}};
  CHECK(outcome({"a"}, best_of({Goal::max}, "b", Goal::min), {other, curve}).values == Values{0.4});
  CHECK(outcome({"a"}, best_of({Goal::min}, "eval/b", Goal::max), {other, curve}).values ==
        Values{0.3});
}

TEST_CASE("all values of the best step are of that step") {
  const Curve a = {{10, 7}, {20, 9}, {30, 8}}, b = {{10, 100}, {20, 300}, {30, 200}};
  const std::vector<Goal> goals = {Goal::max, Goal::min};
  CHECK(outcome({"a", "b"}, best_of(goals, "a"), {a, b}).values == Values{9, 300});
  CHECK(outcome({"a", "b"}, best_of(goals, "eval/b"), {a, b}).values == Values{7, 100});
  // The goal of the step may be another one than that of the objective.
  CHECK(outcome({"a", "b"}, best_of(goals, "b", Goal::max), {a, b}).values == Values{9, 300});
}

TEST_CASE("only steps at which everything was measured are compared") {
  const Curve a = {{10, 7}, {20, 9}, {30, 8}}, b = {{10, 100}, {25, 0}, {30, 200}};
  CHECK(outcome({"a", "b"}, best_of({Goal::max, Goal::min}, "a"), {a, b}).values == Values{8, 200});
  CHECK(outcome({"a", "b"}, mean_of(), {a, b}).values == Values{7.5, 150});
  const auto none = outcome({"a", "train/b"}, mean_of(), {a, {{15, 1}}});
  CHECK(none.values.empty());
  CHECK(none.missing == "its metrics.jsonl has no step with eval/a and train/b");
}

TEST_CASE("the mean is over the last steps, or over those that there are") {
  const Curve curve = {{10, 3}, {20, 1}, {30, 5}, {40, 2}};
  CHECK(outcome({"a"}, mean_of(1), {curve}).values == Values{2});
  CHECK(outcome({"a"}, mean_of(2), {curve}).values == Values{3.5});
  CHECK(outcome({"a"}, mean_of(4), {curve}).values == Values{2.75});
  CHECK(outcome({"a"}, mean_of(9), {curve}).values == Values{2.75});
  CHECK(outcome({"a"}, mean_of(), {curve}).values == Values{2.75});
}

TEST_CASE("a number that is not finite is no best one, and no part of a mean") {
  const Curve curve = {{10, 3}, {20, NAN}, {30, 4}, {40, NAN}};
  CHECK(outcome({"a"}, best_of({Goal::min}), {curve}).values == Values{3});
  CHECK(outcome({"a"}, best_of({Goal::max}), {curve}).values == Values{4});
  CHECK(outcome({"a"}, {}, {curve}).missing == "its last eval/a is not finite");
  CHECK(outcome({"a"}, mean_of(2), {curve}).missing == "the mean of its eval/a is not finite");
  CHECK(outcome({"a"}, best_of({Goal::min}), {{{10, NAN}}}).missing ==
        "its eval/a is finite at no step");
  CHECK(outcome({"a"}, best_of({}, "b", Goal::max), {curve, {{10, 1}, {20, 2}, {30, 1}}}).missing ==
        "its eval/a at step 20 is not finite");
}

TEST_CASE("another value may replace one that is not finite, but not one never written") {
  ValueRule rule;
  rule.for_nonfinite = -5;
  for (const ValueAt at : {ValueAt::last, ValueAt::best, ValueAt::mean}) {
    rule.value_of.at = at;
    CHECK(outcome({"a"}, rule, {{{10, NAN}}}).values == Values{-5});
    CHECK(outcome({"a"}, rule, {{{10, 2}}}).values == Values{2});
    const auto unseen = outcome({"a"}, rule, {{}});
    CHECK(unseen.values.empty());
    CHECK(unseen.is_unseen);
    CHECK(unseen.missing == "its metrics.jsonl has no eval/a");
  }
}

}  // namespace trial_value_test
