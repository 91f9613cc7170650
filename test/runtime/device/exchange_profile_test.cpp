// SPDX-License-Identifier: Apache-2.0
// Profiles of exchanges from measured steps that are made up, and from JSON.
#include "device/exchange_profile.h"

#include <catch2/catch.hpp>

#include "trivet/config/json.h"
#include "trivet/error.h"

namespace exchange_profile_test {
namespace {

using namespace trivet;
using Catch::Contains;

// Begins at 100; exchanges a unit of 8 bytes from `begin` to `end`, and ends at 120.
MeasuredStep step_of(double begin, double end, std::uint64_t bytes = 8) {
  return {.begin = 100,
          .end = 120,
          .exchanges = {{.kind = UnitExchange::Kind::sum,
                         .bytes = bytes,
                         .is_beside = true,
                         .begin = begin,
                         .wait = begin,
                         .end = end}}};
}

std::string complaint(const std::string& text) {
  try {
    exchange_profile(value_from_json(text, "a.json"), "a.json");
  } catch (const Error& failure) {
    return failure.message();
  }
  return "none";
}

}  // namespace

TEST_CASE("the last process to come waits for the transfer alone, and the slowest computes") {
  // Process 1 comes 4 s later. A step of each is slow by accident.
  const ExchangeProfile profile =
      exchange_profile({{step_of(102, 109), step_of(102, 119), step_of(102, 109)},
                        {step_of(106, 109), step_of(106, 109), step_of(116, 119)}});
  REQUIRE(profile.sequences.size() == 1);
  CHECK(profile.steps == 3);
  const ExchangeProfile::Sequence& sequence = profile.sequences.front();
  CHECK((sequence.processes == std::vector<std::int64_t>{0, 1}));
  REQUIRE(sequence.exchanges.size() == 1);
  const ExchangeProfile::Exchange& one = sequence.exchanges.front();
  CHECK(one.kind == UnitExchange::Kind::sum);
  CHECK(one.bytes == 8);
  CHECK(one.is_beside);
  CHECK(one.compute_seconds == Approx(6));
  CHECK(one.seconds == Approx(3));
  CHECK(one.waited_seconds == Approx((7 + 3) / 2.0));
  CHECK(sequence.rest_seconds == Approx(11));
}

TEST_CASE("processes that exchange other units have a sequence of their own") {
  const ExchangeProfile profile =
      exchange_profile({{step_of(102, 103)}, {step_of(102, 103, 4)}, {step_of(102, 104)}});
  REQUIRE(profile.sequences.size() == 2);
  CHECK((profile.sequences[0].processes == std::vector<std::int64_t>{0, 2}));
  CHECK((profile.sequences[1].processes == std::vector<std::int64_t>{1}));
}

TEST_CASE("steps that exchange other units than the last one do not count") {
  const ExchangeProfile profile =
      exchange_profile({{step_of(102, 119, 4), step_of(102, 103), step_of(102, 103)}});
  CHECK(profile.steps == 2);
  CHECK(profile.sequences.front().exchanges.front().seconds == Approx(1));
  CHECK(exchange_profile({{MeasuredStep{.begin = 1, .end = 2}}}).is_empty());
  CHECK_FALSE(profile.is_empty());
}

TEST_CASE("profiles and measured steps are the same after JSON") {
  const std::vector<MeasuredStep> steps = {step_of(102, 103.25), step_of(101, 102.5)};
  const Value measured = value_from_json(to_json(to_value(steps)), "a.json");
  CHECK(to_json(to_value(measured_steps(measured, "a.json"))) == to_json(to_value(steps)));
  const std::string text = to_json(to_value(exchange_profile({steps, steps})));
  CHECK(to_json(to_value(exchange_profile(value_from_json(text, "a.json"), "a.json"))) == text);
}

TEST_CASE("another form than that of a profile is refused") {
  const std::string good = to_json(to_value(exchange_profile({{step_of(102, 103)}})));
  REQUIRE(complaint(good) == "none");
  const auto with = [&](const std::string& old, const std::string& text) {
    std::string changed = good;
    changed.replace(changed.find(old), old.size(), text);
    return complaint(changed);
  };
  CHECK_THAT(complaint("{}"), Contains("lacks 'steps'"));
  CHECK_THAT(complaint("[1]"), !Contains("none"));
  CHECK_THAT(with("\"sum\"", "\"total\""), Contains("no exchange is a 'total'"));
  CHECK_THAT(with("\"seconds\":", "\"seconds\":-"), Contains("'seconds' is no time"));
  CHECK_THAT(with("\"bytes\":8", "\"bytes\":-8"), Contains("'bytes' is negative"));
  CHECK_THAT(with("\"bytes\":8", "\"bytes\":\"8\""), !Contains("none"));
  CHECK_THAT(complaint(R"({"steps": 1, "sequences": []})"), Contains("has no exchange"));
}

}  // namespace exchange_profile_test
