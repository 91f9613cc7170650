// SPDX-License-Identifier: Apache-2.0
// Fields that take a number of steps or a time.
#include <string>

#include <catch2/catch.hpp>

#include "trivet/config.h"

using namespace trivet;
using Catch::Contains;

namespace {

struct SavingConfig {
  Interval every = 100;
  Interval never;
  Interval timed = Duration(600);
};
TRIVET_CONFIG(SavingConfig, NoBase, (every, "Steps or time.", at_least(0)), (never, "Off."),
              (timed, "A time."))

SavingConfig read(Value every) {
  return decode<SavingConfig>(Value::table({{"every", std::move(every)}}));
}

}  // namespace

TEST_CASE("an interval is a number of steps or the text of a time") {
  CHECK(read(250).every == Interval(250));
  CHECK_FALSE(read(250).every.is_time());
  CHECK(read("10m").every == Interval(Duration(600)));
  CHECK(read("1h30m").every.time.seconds == 5400);
  CHECK(read("10m").every.is_time());
  CHECK(read(0).every == Interval());
}

TEST_CASE("an interval that is neither steps nor a time is refused with both forms") {
  const auto refused = [](Value value) {
    try {
      read(std::move(value));
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK_THAT(refused("ten minutes"), Contains("every: expected a number of steps, or a time"));
  CHECK_THAT(refused(1.5), Contains("expected a number of steps, or a time"));
  CHECK_THAT(refused(true), Contains("expected a number of steps, or a time"));
  CHECK_THAT(refused(-1), Contains("must be >= 0"));
  CHECK_THAT(refused("0s"), Contains("must be more than no time"));
  CHECK_THAT(refused("-5s"), Contains("must be more than no time"));
}

TEST_CASE("an interval is written so that it reads back to itself") {
  for (const double seconds : {600.0, 0.25, 86400.0, 1e-7, 90.125, 0.1, 1.0 / 3}) {
    SavingConfig config;
    config.every = Duration(seconds);
    const Value written = encode(config);
    INFO(to_toml(written));
    CHECK(written.find("every")->is_string());
    CHECK(equal(decode<SavingConfig>(written), config));
  }
  CHECK(*encode(SavingConfig{}).find("every") == Value(100));
  CHECK(*encode(SavingConfig{}).find("never") == Value(0));
  CHECK(*encode(SavingConfig{}).find("timed") == Value("10m"));
}

TEST_CASE("the schema of an interval carries its default in either form") {
  const Schema schema = schema_from_json(schema_json<SavingConfig>());
  const Field* every = schema.find("every");
  REQUIRE(every != nullptr);
  CHECK(every->type.quantity == "interval");
  CHECK(to_string(every->type) == "interval");
  CHECK(every->default_value == Value(100));
  CHECK(schema.find("timed")->default_value == Value("10m"));
  CHECK(every->low == 0.0);
}
