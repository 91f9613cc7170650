// SPDX-License-Identifier: Apache-2.0
// Search spaces: from TOML tables to the unit cube and back.
#include "trivet/search/search_space.h"

#include <cmath>
#include <functional>

#include <catch2/catch.hpp>

#include "support/property.h"
#include "trivet/search/trial.h"
#include "trivet/testing/config_check.h"

using Catch::Matchers::Contains;
using trivet::Map;
using trivet::Value;
using trivet::search::Dimension;
using trivet::search::DimensionConfig;
using trivet::search::SearchPoint;
using trivet::search::SearchSpace;
using trivet::test::check_property;

namespace {

Dimension dimension(const Value& table) {
  return Dimension("key", trivet::decode<DimensionConfig>(table));
}
Dimension dimension(std::string_view kind, std::initializer_list<Value> items) {
  return dimension(Value::table({{kind, Value::array(items)}}));
}
Dimension steps(std::int64_t low, std::int64_t high, std::int64_t step) {
  return dimension(Value::table({{"int", Value::array({low, high})}, {"step", step}}));
}

// The error message of a dimension.
std::string refusal(const Value& table) {
  try {
    trivet::decode<DimensionConfig>(table, "space.lr");
  } catch (const trivet::ConfigError& error) {
    return error.what();
  }
  return "accepted";
}
std::string refusal(std::string_view kind, std::initializer_list<Value> items) {
  return refusal(Value::table({{kind, Value::array(items)}}));
}

// A coordinate between 0 and 1, both included.
double fraction(std::uint16_t number) {
  return number / 65535.0;
}

}  // namespace

TEST_CASE("a coordinate of a dimension is a value at that part of its range") {
  CHECK(dimension("uniform", {-1.0, 3.0}).value(0.25) == Value(0.0));
  // 10^-5 to 10^-1: a quarter of four orders of magnitude is one.
  CHECK(dimension("log_uniform", {1e-5, 1e-1}).value(0.25).as_float() == Approx(1e-4));
  // Ten integers share the line.
  CHECK(dimension("int", {1, 10}).value(0.0999) == Value(1));
  CHECK(dimension("int", {1, 10}).value(0.1001) == Value(2));
  CHECK(steps(16, 64, 16).value(0.51) == Value(48));
  // log_int: log 1.5 = log 0.5 + u (log 4.5 - log 0.5) parts 1 from 2 at u = 1/2.
  CHECK(dimension("log_int", {1, 4}).value(0.499) == Value(1));
  CHECK(dimension("log_int", {1, 4}).value(0.501) == Value(2));
  CHECK(dimension("choice", {"a", 2, true}).value(0.34) == Value(2));
}

TEST_CASE("the ends of the line are the ends of the range, and values beyond stay inside") {
  for (const double unit : {0.0, -0.5}) {
    CHECK(dimension("uniform", {0.1, 0.3}).value(unit) == Value(0.1));
    CHECK(dimension("log_uniform", {1e-5, 1e-1}).value(unit) == Value(1e-5));
    CHECK(dimension("int", {-3, 3}).value(unit) == Value(-3));
    CHECK(dimension("log_int", {3, 7000}).value(unit) == Value(3));
  }
  for (const double unit : {1.0, 1.5}) {
    CHECK(dimension("uniform", {0.1, 0.3}).value(unit) == Value(0.3));
    CHECK(dimension("log_uniform", {1e-5, 1e-1}).value(unit) == Value(1e-1));
    CHECK(dimension("int", {-3, 3}).value(unit) == Value(3));
    CHECK(steps(0, 10, 4).value(unit) == Value(8));
    CHECK(dimension("log_int", {3, 7000}).value(unit) == Value(7000));
    CHECK(dimension("choice", {1, 2}).value(unit) == Value(2));
  }
}

TEST_CASE("the coordinate of a value maps back to the value") {
  check_property([](std::int32_t low, std::uint32_t width, std::uint16_t at) {
    const Dimension d = dimension("int", {low, std::int64_t{low} + width + 1});
    const Value value = d.value(fraction(at));
    RC_ASSERT(d.value(d.unit(value)) == value);
  });
  check_property([](std::uint32_t low, std::uint32_t width, std::uint16_t at) {
    const Dimension d =
        dimension("log_int", {std::int64_t{low} + 1, std::int64_t{low} + width + 2});
    const Value value = d.value(fraction(at));
    RC_ASSERT(d.value(d.unit(value)) == value);
  });
  check_property([](std::int16_t low, std::uint8_t step, std::uint8_t more, std::uint16_t at) {
    const Dimension d = steps(low, low + step + 1 + more, step + 1);
    const Value value = d.value(fraction(at));
    RC_ASSERT(d.value(d.unit(value)) == value);
    RC_ASSERT((value.as_integer() - low) % (step + 1) == 0);
  });
  check_property([](std::uint16_t at) {
    const Dimension d = dimension("log_uniform", {1e-6, 10.0});
    RC_ASSERT(std::abs(d.unit(d.value(fraction(at))) - fraction(at)) < 1e-12);
  });
}

TEST_CASE("every coordinate of a cell maps to its value, and cells have no gaps") {
  const std::vector<std::function<Dimension(int)>> kinds = {
      [](int n) {
        return dimension("int", {-4, n});
      },
      [](int n) {
        return dimension("log_int", {1, n + 1});
      },
      [](int n) { return steps(0, 3 * n, 3); },
  };
  for (const auto& kind : kinds) {
    check_property([&kind](std::uint8_t n, std::uint16_t at) {
      const Dimension d = kind(n + 1);
      const auto cell = d.cell(fraction(at));
      RC_ASSERT(cell.first <= fraction(at));
      RC_ASSERT(fraction(at) <= cell.second);
      const Value value = d.value(fraction(at));
      RC_ASSERT(d.value(cell.first + 1e-9) == value);
      RC_ASSERT(d.value(cell.second - 1e-9) == value);
      if (cell.second < 1) RC_ASSERT(d.cell(cell.second + 1e-9).first == cell.second);
    });
  }
  CHECK(dimension("uniform", {0.0, 2.0}).cell(0.3) == std::pair(0.3, 0.3));
}

TEST_CASE("a dimension knows how many values it has") {
  CHECK(dimension("uniform", {0, 1}).count() == 0);
  CHECK(dimension("uniform", {0, 1}).is_continuous());
  CHECK(dimension("int", {-2, 2}).count() == 5);
  CHECK(steps(0, 10, 4).count() == 3);
  CHECK(dimension("log_int", {1, 8}).count() == 8);
  const Dimension colors = dimension("choice", {"red", "green"});
  CHECK(colors.count() == 2);
  CHECK(colors.is_categorical());
}

TEST_CASE("a space maps points to the cube and back, in any order of their keys") {
  Map<DimensionConfig> config;
  config["lr"].log_uniform = {1e-4, 1.0};
  config["task.layers"].int_ = {1, 4};
  config["task.activation"].choice = std::vector<Value>{"nn/Relu", "nn/Gelu"};
  const SearchSpace space(config);
  const SearchPoint point = space.point(std::vector<double>{0.5, 0.3, 0.9});
  REQUIRE(point.size() == 3);
  CHECK(point[0].first == "lr");
  CHECK(point[0].second.as_float() == Approx(0.01));
  CHECK(point[1] == std::pair<std::string, Value>("task.layers", 2));
  CHECK(point[2] == std::pair<std::string, Value>("task.activation", "nn/Gelu"));

  const std::vector<double> unit = space.unit({point[2], point[0], point[1]});
  CHECK(unit[0] == Approx(0.5));
  CHECK(unit[1] == 0.375);  // the middle of the second of four cells
  CHECK(unit[2] == 0.75);
}

TEST_CASE("a point that is none of the space is refused by key") {
  Map<DimensionConfig> config;
  config["lr"].uniform = {0.0, 1.0};
  config["layers"].int_ = {1, 4};
  const SearchSpace space(config);
  const auto refusal_of = [&](const SearchPoint& point) -> std::string {
    try {
      space.unit(point);
    } catch (const trivet::Error& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(refusal_of({{"lr", 0.5}, {"layers", 4}}) == "accepted");
  CHECK(refusal_of({{"lr", 1}, {"layers", 4}}) == "accepted");  // an integer is a number, too
  CHECK_THAT(refusal_of({{"lr", 1.5}, {"layers", 4}}),
             Contains("lr: 1.5 is no value of this dimension") && Contains("uniform = [0.0, 1.0]"));
  CHECK_THAT(refusal_of({{"lr", 0.5}, {"layers", 5}}), Contains("layers: 5 is no value"));
  CHECK_THAT(refusal_of({{"lr", 0.5}, {"layers", 2.0}}), Contains("layers: 2.0 is no value"));
  CHECK_THAT(refusal_of({{"lr", "fast"}, {"layers", 2}}), Contains("lr: \"fast\" is no value"));
  CHECK_THAT(refusal_of({{"lr", 0.5}}), Contains("layers: ") && Contains("has no value"));
  CHECK_THAT(refusal_of({{"lr", 0.5}, {"layers", 2}, {"wd", 1}}),
             Contains("wd: ") && Contains("not in its space"));
}

TEST_CASE("an invalid dimension is refused with a hint") {
  CHECK_THAT(refusal(Value::table()),
             Contains("space.lr") && Contains("sets no values") &&
                 Contains("set exactly one of uniform, log_uniform, int, log_int, choice, "
                          "manyof and permutate"));
  CHECK_THAT(
      refusal(Value::table({{"uniform", Value::array({0, 1})}, {"int", Value::array({0, 1})}})),
      Contains("sets more than one kind of values"));
  CHECK_THAT(refusal("uniform", {1.0}),
             Contains("space.lr.uniform: must be [low, high], has 1 numbers"));
  CHECK_THAT(refusal("uniform", {2.0, 1.0}),
             Contains("space.lr.uniform: low must be less than high, is [2.0, 1.0]"));
  CHECK_THAT(refusal("int", {3, 3}), Contains("space.lr.int: low must be less than high"));
  CHECK_THAT(refusal("uniform", {0.0, INFINITY}), Contains("bounds must be finite"));
  CHECK_THAT(refusal("uniform", {NAN, 1.0}), Contains("bounds must be finite"));
  CHECK_THAT(refusal("uniform", {-1.7e308, 1.7e308}), Contains("is too wide"));
  CHECK_THAT(refusal("log_uniform", {0.0, 1.0}),
             Contains("low must be more than 0 on a logarithmic scale, is 0.0") &&
                 Contains("use uniform"));
  CHECK_THAT(refusal("log_int", {0, 8}), Contains("low must be at least 1"));
  CHECK_THAT(refusal("int", {0, std::int64_t{1} << 41}), Contains("between -2^40 and 2^40"));
  CHECK_THAT(refusal("choice", {}), Contains("must list at least one value"));
  CHECK_THAT(refusal("choice", {1, 2, 1}), Contains("1 is listed twice"));
  CHECK_THAT(refusal(Value::table({{"uniform", Value::array({0, 1})}, {"step", 2}})),
             Contains("space.lr.step: is for int only"));
  CHECK_THAT(refusal(Value::table({{"int", Value::array({0, 5})}, {"step", 6}})),
             Contains("only 0 is left"));
  CHECK_THAT(refusal(Value::table({{"int", Value::array({0, 5})}, {"step", 0}})),
             Contains("space.lr.step"));
}

TEST_CASE("a space without dimensions is refused") {
  CHECK_THROWS_WITH(SearchSpace({}), Contains("space: there is nothing to search"));
}

TEST_CASE("the config of a dimension survives the way to a file and back") {
  DimensionConfig integers;
  integers.int_ = {2, 12};
  integers.step = 5;
  const auto report = trivet::testing::check_config(integers);
  INFO(report.text());
  CHECK(report.passed());
}

TEST_CASE("the loss of a trial is its value or last measurement, signed by the goal") {
  using trivet::Goal;
  using trivet::search::final_loss;
  using trivet::search::TrialState;
  trivet::search::Trial trial;
  trial.measurements = {{10, 0.5}, {20, 0.75}};
  CHECK_FALSE(final_loss(trial, Goal::min));  // it still runs
  trial.state = TrialState::stopped;
  CHECK(final_loss(trial, Goal::min) == 0.75);
  CHECK(final_loss(trial, Goal::max) == -0.75);
  trial.state = TrialState::complete;
  trial.value = 0.25;
  CHECK(final_loss(trial, Goal::max) == -0.25);
  trial.value = NAN;
  CHECK_FALSE(final_loss(trial, Goal::max));
  trial.value = 0.25;
  trial.state = TrialState::failed;
  CHECK_FALSE(final_loss(trial, Goal::max));
}
