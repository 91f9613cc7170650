// SPDX-License-Identifier: Apache-2.0
// ConfigOf as a value: made, copied, compared, read and written.
#include <catch2/catch.hpp>

#include "config_types.h"

using config_test::Gadget;
using trivet::ConfigOf;
using trivet::ConfigValue;
using trivet::Value;

TEST_CASE("an empty ConfigOf has neither key nor fields") {
  const ConfigOf<Gadget> config;
  CHECK_FALSE(config.has_value());
  CHECK(config.key().empty());
  CHECK(config.fields() == Value::table());
  CHECK(config.to_value().is_null());
}

TEST_CASE("a key from a literal or from a temporary text stays valid") {
  ConfigOf<Gadget> config;
  {
    const std::string key = "a/" + std::string(40, 'x');
    config = ConfigOf<Gadget>(key);
  }
  CHECK(config.key() == "a/" + std::string(40, 'x'));
  char buffer[] = "b/Name";
  const ConfigOf<Gadget> from_buffer = buffer;
  buffer[0] = '!';
  CHECK(from_buffer.key() == "b/Name");
  static constexpr ConfigOf<Gadget> kConstant = "c/Name";
  static_assert(kConstant.key() == "c/Name");
}

TEST_CASE("copies of a ConfigOf are independent and equal") {
  ConfigOf<Gadget> a("a/X", Value::table({{"n", 1}}));
  ConfigOf<Gadget> b = a;
  CHECK(a == b);
  b = {"a/X", Value::table({{"n", 2}})};
  CHECK_FALSE(a == b);
  CHECK(a.fields().find("n")->as_integer() == 1);
  CHECK_FALSE(a == ConfigOf<Gadget>("a/Y", Value::table({{"n", 1}})));
  CHECK(ConfigOf<Gadget>("a/X") == ConfigOf<Gadget>("a/X", Value::table()));
}

TEST_CASE("where a config stood does not matter for equality") {
  const Value table = Value::table({{"type", "a/X"}, {"n", 1}});
  const auto here = ConfigValue::from_value(table, "gadget", "here");
  const auto there = ConfigValue::from_value(table, "gadget", "there");
  CHECK(here == there);
  CHECK(here.path() == "here");
  CHECK(here.to_value() == table);
  CHECK(ConfigValue::from_value(here.to_value(), "gadget", "") == here);
}

TEST_CASE("the fields of a ConfigOf decode as the struct that the caller names") {
  const ConfigOf<Gadget> config("a/Point", Value::table({{"x", 0.25}}));
  CHECK(config.decode_as<config_test::Point>().x == 0.25);
  const ConfigOf<Gadget> wrong(
      ConfigValue::from_value(Value::table({{"type", "a/Point"}, {"y", 1}}), "gadget", "task.g"));
  CHECK_THROWS_WITH(wrong.decode_as<config_test::Point>(),
                    Catch::StartsWith("task.g.y: unknown key"));
}

TEST_CASE("fields that are not a table are refused") {
  CHECK_THROWS_AS(ConfigOf<Gadget>("a/X", Value(3)), trivet::ConfigError);
}
