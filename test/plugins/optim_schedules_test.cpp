// SPDX-License-Identifier: Apache-2.0
// Schedules against values computed by hand from the formulas in plugins/optim/schedules.h.
#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/registry.h"
#include "trivet/schedule.h"

namespace {

using trivet::Value;

std::unique_ptr<trivet::Schedule> schedule(const std::string& name, Value fields) {
  trivet::test::use_plugin("optim");
  return trivet::make(trivet::ConfigOf<trivet::Schedule>("optim/" + name, std::move(fields)));
}

// Values at some steps, given as {step, value, step, value, ...}.
void check(const trivet::Schedule& schedule,
           std::initializer_list<std::pair<std::int64_t, double>> expected) {
  for (const auto& [step, value] : expected) {
    INFO("step " << step);
    CHECK(schedule.value(step) == Approx(value).epsilon(1e-12).margin(1e-15));
  }
}

std::string error_of(const std::string& name, Value fields) {
  try {
    schedule(name, std::move(fields));
  } catch (const trivet::Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a constant schedule is constant, and a bare number stands for it") {
  check(*schedule("Constant", Value::table({{"value", 0.1}})), {{0, 0.1}, {1000000, 0.1}});
  const auto item = trivet::registry().for_number("schedule");
  REQUIRE(item.has_value());
  CHECK(item->key == "optim/Constant");
  CHECK(item->field == "value");
}

TEST_CASE("a linear schedule is a straight line between two constants") {
  const Value fields = Value::table(
      {{"initial_value", 1.0}, {"final_value", 0.2}, {"decay_steps", 10}, {"offset", 5}});
  check(*schedule("Linear", fields), {{0, 1.0}, {5, 1.0}, {10, 0.6}, {15, 0.2}, {100, 0.2}});
}

TEST_CASE("a cosine schedule falls as half a cosine") {
  // 0.1 (1 + cos(pi/4)) / 2 = 0.0853553390593...
  const auto plain =
      schedule("Cosine", Value::table({{"initial_value", 0.1}, {"decay_steps", 1000}}));
  check(*plain, {{0, 0.1},
                 {250, 0.08535533905932738},
                 {500, 0.05},
                 {750, 0.014644660940672627},
                 {1000, 0.0},
                 {2000, 0.0}});
  const auto floored = schedule(
      "Cosine",
      Value::table({{"initial_value", 0.1}, {"final_value", 0.02}, {"decay_steps", 1000}}));
  check(*floored, {{0, 0.1}, {500, 0.06}, {1000, 0.02}, {5000, 0.02}});
}

TEST_CASE("an exponential schedule falls by its rate every decay_steps") {
  Value fields = Value::table({{"initial_value", 0.1}, {"decay_rate", 0.96}, {"decay_steps", 100}});
  // 0.1 * 0.96^0.5 and 0.1 * 0.96^2.5
  check(*schedule("Exponential", fields),
        {{0, 0.1}, {50, 0.09797958971132713}, {100, 0.096}, {250, 0.09029798987795908}});
  fields.set("staircase", true);
  check(*schedule("Exponential", fields), {{99, 0.1}, {100, 0.096}, {250, 0.09216}});
  fields.set("minimum", 0.095);
  check(*schedule("Exponential", fields), {{199, 0.096}, {200, 0.095}});
}

TEST_CASE("a polynomial schedule falls as a power of what is left, once or in cycles") {
  Value fields =
      Value::table({{"initial_value", 0.1}, {"final_value", 0.001}, {"decay_steps", 10}});
  fields.set("power", 2.0);
  check(*schedule("Polynomial", fields),
        {{0, 0.1}, {3, 0.04951}, {5, 0.02575}, {10, 0.001}, {20, 0.001}});
  fields.set("power", 1.0);
  fields.set("cycle", true);
  check(*schedule("Polynomial", fields),
        {{0, 0.1}, {5, 0.0505}, {10, 0.001}, {11, 0.04555}, {20, 0.001}, {25, 0.0175}});
}

TEST_CASE("a piecewise schedule has the next value from its boundary on") {
  Value fields = Value::table();
  fields.set("boundaries", Value::array({30, 60}));
  fields.set("values", Value::array({1.0, 0.1, 0.0}));
  check(*schedule("Piecewise", fields),
        {{0, 1.0}, {29, 1.0}, {30, 0.1}, {59, 0.1}, {60, 0.0}, {1000, 0.0}});
  fields.set("offset", 5);
  check(*schedule("Piecewise", fields), {{34, 1.0}, {35, 0.1}, {65, 0.0}});
}

TEST_CASE("a warm-up replaces the first steps and leaves the rest where it was") {
  const Value warmup = Value::table({{"steps", 100}});
  Value fields = Value::table({{"initial_value", 1.0}, {"decay_steps", 1000}, {"warmup", warmup}});
  // Model Garden's linear warm-up: w0 + step / 100 * (schedule(100) - w0), schedule(100) = 0.9.
  check(*schedule("Linear", fields), {{0, 0.0}, {50, 0.45}, {100, 0.9}, {500, 0.5}});
  fields.set("warmup", Value::table({{"steps", 100}, {"start", 0.1}, {"power", 2.0}}));
  check(*schedule("Linear", fields), {{0, 0.1}, {50, 0.3}, {99, 0.1 + 0.8 * 0.9801}, {100, 0.9}});
}

TEST_CASE("lists of a piecewise schedule that do not fit are refused") {
  Value fields = Value::table();
  fields.set("boundaries", Value::array({30, 30}));
  fields.set("values", Value::array({1.0, 0.1}));
  const std::string text = error_of("Piecewise", fields);
  CHECK_THAT(text, Catch::Contains("values") && Catch::Contains("wants 3 values"));
  CHECK_THAT(text, Catch::Contains("boundaries") && Catch::Contains("must rise"));
}

TEST_CASE("a decay over no steps is refused") {
  CHECK_THAT(error_of("Cosine", Value::table({{"initial_value", 0.1}, {"decay_steps", 0}})),
             Catch::Contains("decay_steps"));
}
