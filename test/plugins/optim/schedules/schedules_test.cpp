// SPDX-License-Identifier: Apache-2.0
// Schedules against values computed by hand from the formulas in
// plugins/optim/schedules/schedules.h.
#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/plugin/registry.h"
#include "trivet/schedule.h"

namespace optim_schedules_test {
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

TEST_CASE("a constant schedule is constant, and a bare number selects it") {
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

TEST_CASE("a polynomial schedule falls as a power of the remaining steps, once or in cycles") {
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

TEST_CASE("an inverse-time schedule falls as the reciprocal of the steps") {
  // By hand: 0.1 / (1 + 0.5 s / 10) with s counted from 5; Keras' InverseTimeDecay.
  Value fields = Value::table(
      {{"initial_value", 0.1}, {"decay_rate", 0.5}, {"decay_steps", 10}, {"offset", 5}});
  check(*schedule("InverseTime", fields),
        {{0, 0.1}, {5, 0.1}, {15, 0.1 / 1.5}, {25, 0.05}, {205, 0.1 / 11}});
}

TEST_CASE("a polynomial schedule with its origin at the start falls faster and faster") {
  // By hand: 0.1 - 0.099 (s / 10)^2, as Praxis' Polynomial with origin = start.
  Value fields =
      Value::table({{"initial_value", 0.1}, {"final_value", 0.001}, {"decay_steps", 10}});
  fields.set("power", 2.0);
  fields.set("origin", "start");
  fields.set("offset", 5);
  check(*schedule("Polynomial", fields),
        {{0, 0.1}, {5, 0.1}, {8, 0.09109}, {10, 0.07525}, {15, 0.001}, {20, 0.001}});
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

TEST_CASE("a closed piecewise schedule has the value before at its boundary, as Model Garden's") {
  Value fields = Value::table({{"closed", true}});
  fields.set("boundaries", Value::array({30, 60}));
  fields.set("values", Value::array({1.0, 0.1, 0.0}));
  check(*schedule("Piecewise", fields), {{0, 1.0}, {30, 1.0}, {31, 0.1}, {60, 0.1}, {61, 0.0}});
}

// Model Garden, official/modeling/optimization/lr_schedule.py: DirectPowerDecay,
// PowerAndLinearDecay, PowerDecayWithOffset, StepCosineDecayWithOffset; values by hand from the
// formulas in schedules.h.
TEST_CASE("a power schedule falls as a power of the step, from step 1 on") {
  Value fields = Value::table({{"initial_value", 0.1}});
  check(*schedule("Power", fields), {{0, 0.1}, {1, 0.1}, {4, 0.05}, {100, 0.01}});
  fields.set("power", -1.0);
  fields.set("offset", 10);
  check(*schedule("Power", fields), {{0, 0.1}, {11, 0.1}, {20, 0.01}});
}

TEST_CASE("a power schedule with a line ends at 0") {
  Value fields = Value::table({{"initial_value", 0.1}, {"total_decay_steps", 100}});
  // The line begins at 90: 0.1 * 95^-0.5 * 0.5 at 95.
  check(*schedule("PowerLinear", fields),
        {{0, 0.1}, {81, 0.1 / 9}, {95, 0.005129891760425771}, {100, 0.0}, {200, 0.0}});
  fields.set("linear_decay_fraction", 0.0);
  check(*schedule("PowerLinear", fields), {{100, 0.01}, {400, 0.005}});
  fields.set("linear_decay_fraction", 1.0);
  fields.set("offset", 19);
  check(*schedule("PowerLinear", fields), {{0, 0.1}, {19, 0.1}, {100, 0.1 / 9 * 0.19}});
}

TEST_CASE("a power schedule with an offset is constant up to it and never above that constant") {
  const Value fields = Value::table(
      {{"initial_value", 1.0}, {"power", -1.0}, {"offset", 10}, {"pre_offset_value", 0.25}});
  check(*schedule("PowerWithOffset", fields),
        {{0, 0.25}, {10, 0.25}, {11, 0.25}, {14, 0.25}, {15, 0.2}, {20, 0.1}});
}

TEST_CASE("a step cosine schedule goes from value to value and holds the last one") {
  Value fields = Value::table();
  fields.set("boundaries", Value::array({0, 100, 300}));
  fields.set("values", Value::array({1.0, 0.2, 0.6}));
  // 0.2 + 0.8 (1 + cos(pi / 4)) / 2 = 0.88284271247...
  check(*schedule("StepCosine", fields), {{0, 1.0},
                                          {25, 0.8828427124746191},
                                          {50, 0.6},
                                          {100, 0.2},
                                          {200, 0.4},
                                          {300, 0.6},
                                          {301, 0.6},
                                          {100000, 0.6}});
  fields.set("offset", 50);
  check(*schedule("StepCosine", fields), {{0, 1.0}, {50, 1.0}, {100, 0.6}});
}

TEST_CASE("a warm-up that counts from one does not lose the first update") {
  // Model Garden's polynomial warm-up: schedule(ws) (max(step, 1) / ws)^power.
  const Value warmup = Value::table({{"steps", 10}, {"power", 2.0}, {"count_from_one", true}});
  const auto warmed = schedule("Constant", Value::table({{"value", 0.5}, {"warmup", warmup}}));
  check(*warmed, {{0, 0.005}, {1, 0.005}, {2, 0.02}, {9, 0.405}, {10, 0.5}, {11, 0.5}});
}

TEST_CASE("a warm-up may be a share of the training") {
  const auto warmed = [](double share, std::int64_t of_steps) {
    return schedule(
        "Constant",
        Value::table({{"value", 0.5},
                      {"warmup", Value::table({{"share", share}, {"of_steps", of_steps}})}}));
  };
  check(*warmed(0.1, 1000), {{0, 0}, {50, 0.25}, {100, 0.5}, {999, 0.5}});
  check(*warmed(0.1, 100), {{0, 0}, {5, 0.25}, {10, 0.5}});
  check(*warmed(0.25, 10), {{0, 0}, {1, 0.5 / 3}, {3, 0.5}});  // 2.5 is rounded to 3
  check(*warmed(0.001, 100), {{0, 0}, {1, 0.5}});              // at least one step
  const auto refused = [](Value warmup) {
    return error_of("Constant", Value::table({{"value", 0.5}, {"warmup", std::move(warmup)}}));
  };
  CHECK_THAT(refused(Value::table({{"share", 0.1}})), Catch::Contains("of_steps"));
  CHECK_THAT(refused(Value::table({{"share", 0.1}, {"of_steps", 9}, {"steps", 2}})),
             Catch::Contains("steps, too"));
  CHECK_THAT(refused(Value::table({{"of_steps", 9}})), Catch::Contains("no effect"));
}

TEST_CASE("lists of a step cosine schedule that do not fit are refused") {
  Value fields = Value::table();
  fields.set("boundaries", Value::array({0, 100}));
  fields.set("values", Value::array({1.0}));
  CHECK_THAT(error_of("StepCosine", fields), Catch::Contains("needs 2 values"));
  fields.set("boundaries", Value::array({}));
  CHECK_THAT(error_of("StepCosine", fields), Catch::Contains("at least one"));
}

TEST_CASE("lists of a piecewise schedule that do not fit are refused") {
  Value fields = Value::table();
  fields.set("boundaries", Value::array({30, 30}));
  fields.set("values", Value::array({1.0, 0.1}));
  const std::string text = error_of("Piecewise", fields);
  CHECK_THAT(text, Catch::Contains("values") && Catch::Contains("needs 3 values"));
  CHECK_THAT(text, Catch::Contains("boundaries") && Catch::Contains("must increase"));
}

TEST_CASE("a decay over no steps is refused") {
  CHECK_THAT(error_of("Cosine", Value::table({{"initial_value", 0.1}, {"decay_steps", 0}})),
             Catch::Contains("decay_steps"));
}

TEST_CASE("a warm-up may be as long as the schedule, and rises to its last value then") {
  const auto decaying = [](const char* steps) {
    Value fields = Value::table({{"initial_value", 1.0}, {"offset", 5}, {steps, 10}});
    fields.set("warmup", Value::table({{"steps", 30}, {"start", 0.5}}));
    return fields;
  };
  Value cosines = Value::table({{"offset", 5}});
  cosines.set("boundaries", Value::array({0, 10}));
  cosines.set("values", Value::array({1.0, 0.0}));
  cosines.set("warmup", Value::table({{"steps", 30}, {"start", 0.5}}));
  for (const auto& [name, fields] :
       {std::pair("Linear", decaying("decay_steps")), std::pair("Cosine", decaying("decay_steps")),
        std::pair("Polynomial", decaying("decay_steps")),
        std::pair("PowerLinear", decaying("total_decay_steps")),
        std::pair("StepCosine", cosines)}) {
    INFO(name);
    const auto rate = schedule(name, fields);
    CHECK(rate->value(0) == Approx(0.5));
    CHECK(rate->value(30) == rate->value(1000));
    CHECK(rate->value(15) == Approx((0.5 + rate->value(30)) / 2));
  }
}

}  // namespace optim_schedules_test
