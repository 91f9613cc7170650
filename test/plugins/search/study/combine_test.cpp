// SPDX-License-Identifier: Apache-2.0
// One value of several objectives, against values by hand.
#include "search/study/combine.h"

#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/config_round_trip.h"
#include "search/study/trial_value.h"

namespace combine_test {

using namespace trivet;
using namespace trivet::search;
using enum CombineMethod;

const std::vector<ObjectiveConfig> kQualityAndCost = {{"accuracy", Goal::max}, {"ms", Goal::min}};

double value(const CombineConfig& combine, const std::vector<double>& values,
             const std::vector<Goal>& goals = {Goal::max, Goal::min}) {
  return combined(combine, goals, values);
}

// The first problem.
std::string problem(const CombineConfig& combine,
                    const std::vector<ObjectiveConfig>& objectives = kQualityAndCost) {
  Diagnostics diagnostics;
  check_combine(combine, objectives, diagnostics);
  if (diagnostics.list().empty()) return "none";
  return diagnostics.list()[0].path + ": " + diagnostics.list()[0].what;
}

TEST_CASE("a weighted sum is in parts of the absolute weights, and costs count negative") {
  const CombineConfig combine{.method = weighted_sum, .weights = {3, 1}};
  CHECK(value(combine, {0.8, 2}) == Approx((3 * 0.8 - 2) / 4));
  CHECK(value(combine, {0.8, 2}, {Goal::max, Goal::max}) == Approx((3 * 0.8 + 2) / 4));
  // Of two losses the sum is a loss.
  CHECK(value(combine, {0.8, 2}, {Goal::min, Goal::min}) == Approx((3 * 0.8 + 2) / 4));
  CHECK(value(combine, {0.8, 2}, {Goal::min, Goal::max}) == Approx((3 * 0.8 - 2) / 4));
  CHECK(value({.method = weighted_sum, .weights = {3, -1}}, {0.8, 2}) == Approx((3 * 0.8 + 2) / 4));
  CHECK(value({.method = weighted_sum, .weights = {1, 2, 1}}, {1, 2, 3},
              {Goal::min, Goal::min, Goal::min}) == 2);
}

TEST_CASE("a quality and a cost are combined as by TuNAS and MnasNet") {
  // 0.07 log2 = 0.0485: 2^-0.07 = 0.952638, and 2^0.07 = 1.049717.
  const auto at = [](CombineMethod method, double cost) {
    return value({.method = method, .cost_objective = 20}, {0.5, cost});
  };
  CHECK(at(tunas_absolute, 20) == 0.5);
  CHECK(at(tunas_absolute, 40) == Approx(0.5 - 0.07));
  CHECK(at(tunas_absolute, 10) == Approx(0.5 - 0.035));
  CHECK(at(mnas_hard, 20) == 0.5);
  CHECK(at(mnas_hard, 40) == Approx(0.5 * 0.952638).epsilon(1e-6));
  CHECK(at(mnas_hard, 10) == 0.5);
  CHECK(at(mnas_hard, 0) == 0.5);
  CHECK(at(mnas_soft, 20) == 0.5);
  CHECK(at(mnas_soft, 40) == Approx(0.5 * 0.952638).epsilon(1e-6));
  CHECK(at(mnas_soft, 10) == Approx(0.5 * 1.049717).epsilon(1e-6));
  CHECK(value({.method = mnas_hard, .cost_objective = 20, .exponent = -1}, {0.5, 40}) == 0.25);
  for (const CombineMethod method : {mnas_hard, mnas_soft}) CHECK(std::isnan(at(method, -10)));
}

TEST_CASE("a higher cost than wanted is never better, by any method and cost") {
  for (const CombineMethod method : {tunas_absolute, mnas_hard, mnas_soft}) {
    for (double cost = 20; cost < 200; cost += 7) {
      const CombineConfig combine{.method = method, .cost_objective = 20, .exponent = -0.3};
      CHECK(value(combine, {0.5, cost + 7}) < value(combine, {0.5, cost}));
      CHECK(value(combine, {0.6, cost}) > value(combine, {0.5, cost}));
    }
  }
}

TEST_CASE("what does not fit together is refused by path") {
  const std::vector<ObjectiveConfig> losses = {{"a", Goal::min}, {"b", Goal::min}};
  const std::vector<ObjectiveConfig> three = {{"a", Goal::max}, {"b", Goal::min}, {"c", Goal::min}};
  const CombineConfig sum{.method = weighted_sum, .weights = {1, 1}};
  const CombineConfig soft{.method = mnas_soft, .cost_objective = 1};
  CHECK(problem(sum) == "none");
  CHECK(problem(sum, losses) == "none");
  CHECK(problem(soft) == "none");
  CHECK(problem(sum, {{"a", Goal::max}}) ==
        "combine: there is one objective, and nothing to combine");
  CHECK(problem(sum, three) == "combine.weights: has 2 weights for 3 objectives");
  CHECK(problem({.method = weighted_sum}) == "combine.weights: has 0 weights for 2 objectives");
  CHECK(problem({.method = weighted_sum, .weights = {0, 0}}) ==
        "combine.weights: one weight at least must not be 0");
  CHECK(problem({.method = weighted_sum, .weights = {1, INFINITY}}) ==
        "combine.weights: a weight is not finite");
  CHECK(problem({.method = weighted_sum, .weights = {1, 1}, .cost_objective = 1}) ==
        "combine.cost_objective: has no effect with method = \"weighted_sum\"");
  CHECK(problem({.method = weighted_sum, .weights = {1, 1}, .exponent = -1}) ==
        "combine.exponent: has no effect with method = \"weighted_sum\"");
  CHECK(problem(soft, three) ==
        "combine.method: mnas_soft takes two objectives, a quality and a cost");
  CHECK(problem(soft, losses) ==
        "objectives[0].goal: mnas_soft takes a quality with goal \"max\", then a cost with goal "
        "\"min\"");
  CHECK(problem({.method = mnas_hard}) == "combine.cost_objective: is required by mnas_hard");
  CHECK(problem({.method = mnas_hard, .cost_objective = INFINITY}) ==
        "combine.cost_objective: is not finite");
  CHECK(problem({.method = mnas_hard, .cost_objective = 1, .exponent = -INFINITY}) ==
        "combine.exponent: is not finite");
  CHECK(problem({.method = mnas_hard, .weights = {1, 1}, .cost_objective = 1}) ==
        "combine.weights: has no effect with method = \"mnas_hard\"");
  const auto refused = [](const std::string& field, double number) {
    CHECK_THROWS_WITH(
        decode<CombineConfig>(Value::table({{"method", "mnas_soft"}, {field, number}}), "combine"),
        Catch::Matchers::Contains("combine." + field));
  };
  refused("cost_objective", 0);
  refused("exponent", 0.07);
  test::check_round_trip(CombineConfig{.method = mnas_soft, .cost_objective = 2});
}

TEST_CASE("a trial has one value of combined objectives, at the step where that is best") {
  const std::vector<Measurement> a = {{10, 1}, {20, 3}, {30, 2}, {35, 9}};
  const std::vector<Measurement> b = {{10, 2}, {20, 9}, {30, 1}};
  ValueRule rule{.goals = {Goal::max, Goal::min},
                 .combine = CombineConfig{.method = weighted_sum, .weights = {1, 1}}};
  const auto values = [&] { return TrialValue({"a", "b"}, rule).of({a, b}).values; };
  // Combined: -0.5, -3, 0.5.
  const std::vector<Measurement> curve = {{10, -0.5}, {20, -3}, {30, 0.5}};
  CHECK(TrialValue({"a", "b"}, rule).watched({a, b}) == curve);
  CHECK(values() == std::vector<double>{4});  // the last of each: (9 - 1) / 2
  rule.value_of.at = ValueAt::best;
  CHECK(values() == std::vector<double>{0.5});
  rule.value_of.metric = "b";
  rule.value_of.goal = Goal::max;
  CHECK(values() == std::vector<double>{-3});
  rule.value_of = {.at = ValueAt::mean, .last_n = 2};
  CHECK(values() == std::vector<double>{-1.25});
  rule.combine = CombineConfig{.method = mnas_soft, .cost_objective = 1};
  const std::vector<Measurement> negative = {{10, -2}, {20, -3}};
  CHECK(TrialValue({"a", "b"}, rule).of({a, negative}).missing ==
        "its combined value is not finite");
  rule.value_of = {.at = ValueAt::best};
  CHECK(TrialValue({"a", "b"}, rule).of({a, negative}).missing ==
        "its combined value is finite at no step");
  rule.for_nonfinite = -7;
  CHECK(TrialValue({"a", "b"}, rule).of({a, negative}).values == std::vector<double>{-7});
}

}  // namespace combine_test
