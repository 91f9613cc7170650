// SPDX-License-Identifier: Apache-2.0
// Sequences of schedules against values computed by hand, and Praxis' schedules that they express.
#include "optim/schedules/sequence.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"

namespace optim_sequence_test {
namespace {

using Catch::Contains;
using trivet::Value;

std::unique_ptr<trivet::Schedule> schedule(const std::string& name, Value fields) {
  trivet::test::use_plugin("optim");
  return trivet::make(trivet::ConfigOf<trivet::Schedule>("optim/" + name, std::move(fields)));
}

Value linear(double from, double to, std::int64_t steps) {
  return Value::table({{"type", "optim/Linear"},
                       {"initial_value", from},
                       {"final_value", to},
                       {"decay_steps", steps}});
}

Value sequence(Value::Array schedules, Value::Array boundaries) {
  return Value::table({{"schedules", std::move(schedules)}, {"boundaries", std::move(boundaries)}});
}

std::string error_of(Value fields) {
  try {
    schedule("Sequence", std::move(fields));
  } catch (const trivet::Error& error) {
    return error.what();
  }
  return "no error";
}

const std::int64_t kBoundary = 10;

}  // namespace

TEST_CASE("each schedule of a sequence counts from its boundary, where it begins") {
  // 0 -> 1 in ten steps, then 8 -> 4 in four steps.
  const auto rate =
      schedule("Sequence", sequence({linear(0, 1, 10), linear(8, 4, 4)}, {Value(kBoundary)}));
  CHECK(rate->value(0) == 0);
  CHECK(rate->value(5) == 0.5);
  CHECK(rate->value(9) == Approx(0.9));
  CHECK(rate->value(10) == 8);
  CHECK(rate->value(12) == 6);
  CHECK(rate->value(14) == 4);
  CHECK(rate->value(1000) == 4);
}

TEST_CASE("the schedules of a sequence may count from the start") {
  Value fields = sequence({linear(0, 1, 10), linear(8, 4, 20)}, {Value(kBoundary)});
  fields.set("count_from", "start");
  const auto rate = schedule("Sequence", fields);
  CHECK(rate->value(9) == Approx(0.9));
  CHECK(rate->value(10) == 6);
  CHECK(rate->value(15) == 5);
}

TEST_CASE("a sequence that cycles begins again, and counts from the boundaries of the cycle") {
  Value fields = sequence({linear(0, 1, 10), linear(8, 4, 4)}, {Value(kBoundary)});
  fields.set("cycle_steps", std::int64_t{12});
  const auto rate = schedule("Sequence", fields);
  for (std::int64_t step = 0; step < 12; ++step) {
    INFO("step " << step);
    CHECK(rate->value(step + 12) == rate->value(step));
    CHECK(rate->value(step + 120) == rate->value(step));
  }
  CHECK(rate->value(23) == 7);
  // Praxis' CycleSchedule: the order repeats, but the schedules get the step of the training.
  fields.set("count_from", "start");
  const auto cycle = schedule("Sequence", fields);
  CHECK(cycle->value(13) == 1);
  CHECK(cycle->value(5) == 0.5);
  CHECK(cycle->value(11) == 4);
}

TEST_CASE("a schedule of a sequence has its own warm-up") {
  Value second = linear(8, 4, 4);
  second.set("warmup", Value::table({{"steps", std::int64_t{2}}}));
  const auto rate = schedule("Sequence", sequence({linear(0, 1, 10), second}, {Value(kBoundary)}));
  CHECK(rate->value(10) == 0);
  CHECK(rate->value(11) == 3);
  CHECK(rate->value(12) == 6);
}

// d^-0.5 min((s + 1) w^-1.5, (s + 1)^-0.5), Praxis' schedules.Transformer. At step 1000 with d =
// 512 and w = 4000 it is 1.74867e-4.
TEST_CASE("a power with a negative offset is the schedule of the Transformer") {
  const double d = 512, w = 4000;
  const auto rate = schedule(
      "Power",
      Value::table({{"initial_value", 1 / std::sqrt(d)},
                    {"power", -0.5},
                    {"offset", std::int64_t{-1}},
                    {"warmup", Value::table({{"steps", std::int64_t{3999}},
                                             {"start", 1 / std::sqrt(d) * std::pow(w, -1.5)}})}}));
  for (const std::int64_t step : {0, 1, 1000, 3998, 3999, 4000, 100000}) {
    INFO("step " << step);
    const auto s = static_cast<double>(step) + 1;
    CHECK(rate->value(step) ==
          Approx(std::min(s * std::pow(w, -1.5), 1 / std::sqrt(s)) / std::sqrt(d)).epsilon(1e-12));
  }
  CHECK(rate->value(1000) == Approx(1.74867e-4).epsilon(1e-5));
}

// initial clamp(0.5^((s - start) / half_life), min, 1), Praxis' schedules.ContinuousSchedule.
TEST_CASE("an exponential decay with an offset is Praxis' continuous schedule") {
  const auto rate = schedule("Exponential", Value::table({{"initial_value", 0.5},
                                                          {"decay_rate", 0.5},
                                                          {"decay_steps", std::int64_t{100}},
                                                          {"offset", std::int64_t{400}},
                                                          {"minimum", 0.005}}));
  CHECK(rate->value(0) == 0.5);
  CHECK(rate->value(400) == 0.5);
  CHECK(rate->value(500) == 0.25);
  CHECK(rate->value(700) == 0.0625);
  CHECK(rate->value(10000) == 0.005);
}

TEST_CASE("wrong sequences are refused with the field") {
  CHECK_THAT(error_of(sequence({}, {})), Contains("schedules: is empty"));
  CHECK_THAT(error_of(sequence({linear(0, 1, 10)}, {Value(kBoundary)})),
             Contains("boundaries: has 1 steps for 1 schedules"));
  CHECK_THAT(error_of(sequence({linear(0, 1, 10), linear(0, 1, 10), linear(0, 1, 10)},
                               {Value(kBoundary), Value(kBoundary)})),
             Contains("boundaries: must increase"));
  Value fields = sequence({linear(0, 1, 10), linear(8, 4, 4)}, {Value(kBoundary)});
  fields.set("cycle_steps", kBoundary);
  CHECK_THAT(error_of(fields), Contains("cycle_steps: must be more than the last boundary, 10"));
  CHECK_THAT(error_of(sequence({Value::table({{"type", "optim/Linaer"}})}, {})),
             Contains("optim/Linear"));
}

}  // namespace optim_sequence_test
