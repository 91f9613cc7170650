// SPDX-License-Identifier: Apache-2.0
// Values: content, paths, comparison, text; durations; nearest names.
#include "trivet/config/value.h"

#include <limits>

#include <catch2/catch.hpp>

#include "trivet/config/field_types.h"
#include "trivet/config/json.h"
#include "trivet/config/schema.h"

using trivet::Value;

TEST_CASE("a value holds what it was made from") {
  CHECK(Value().is_null());
  CHECK(Value(true).as_boolean());
  CHECK(Value(std::uint8_t{200}).as_integer() == 200);
  CHECK(Value(1.5).as_float() == 1.5);
  CHECK(Value(2).as_float() == 2.0);
  CHECK(Value("x").as_string() == "x");
  CHECK(Value::array({1, "a"}).items().size() == 2);
  CHECK(Value::table({{"k", 1}}).members()[0].key == "k");
  CHECK_THROWS_AS(Value(std::numeric_limits<std::uint64_t>::max()), trivet::Error);
}

TEST_CASE("asking a value for another type throws with its location") {
  Value value(1);
  value.set_origin({.file = "f.toml", .line = 4, .column = 2});
  CHECK_THROWS_WITH(value.as_string(), "f.toml:4:2: expected a string, found an integer");
}

TEST_CASE("a member that must be there is missed by the name of the record") {
  const Value record = Value::table({{"a", 1}});
  CHECK(record.at("a", "the ledger").as_integer() == 1);
  CHECK_THROWS_WITH(record.at("b", "the ledger"), "the ledger lacks 'b'");
  CHECK_THROWS_AS(Value(7).at("a", "the ledger"), trivet::RunError);
  CHECK_THROWS_WITH(
      record.at("b", "the state", "another program wrote it"),
      Catch::Contains("the state lacks 'b'") && Catch::Contains("another program wrote it"));
}

TEST_CASE("copies are deep") {
  Value a = Value::table({{"t", Value::table({{"x", 1}})}});
  Value b = a;
  b.set_path("t.x", 2);
  CHECK(a.find_path("t.x")->as_integer() == 1);
  a = b;
  b.set_path("t.x", 3);
  CHECK(a.find_path("t.x")->as_integer() == 2);
}

TEST_CASE("a table can be assigned from its own member") {
  Value a = Value::table({{"inner", Value::table({{"x", 1}})}});
  a = Value(*a.find("inner"));
  CHECK(a == Value::table({{"x", 1}}));
}

TEST_CASE("paths reach into tables and arrays") {
  Value value;
  value.set_path("a.b", Value::array({1, 2}));
  value.set_path("a.b[1]", 5);
  value.set_path("a.\"x/Y z\".c", true);
  CHECK(value.find_path("a.b[1]")->as_integer() == 5);
  CHECK(value.find_path("a.\"x/Y z\".c")->as_boolean());
  CHECK(value.find_path("a.b[2]") == nullptr);
  CHECK(value.find_path("a.b.c") == nullptr);
  CHECK(value.find_path("nothing.here") == nullptr);
  CHECK_THROWS_AS(value.set_path("a.b.c", 1), trivet::Error);
  CHECK_THROWS_AS(value.set_path("a.b[7]", 1), trivet::Error);
  CHECK(trivet::joined_path("a", "x/Y z") == "a.\"x/Y z\"");
}

TEST_CASE("a malformed path is refused") {
  for (const char* path : {"a.", ".a", "a..b", "a[", "a[x]", "a[-1]", "a[1", "a.[1]", "\"a",
                           "a[1]b", "a[99999999999999999999]"}) {
    INFO(path);
    CHECK_THROWS_AS(trivet::split_path(path), trivet::Error);
  }
}

TEST_CASE("comparison ignores locations and the order of keys but not types") {
  Value a = Value::table({{"x", 1}, {"y", "t"}});
  Value b = Value::table({{"y", "t"}, {"x", 1}});
  b.find("x")->set_origin({.file = "elsewhere"});
  CHECK(a == b);
  b.set("x", 1.0);
  CHECK_FALSE(a == b);
  CHECK_FALSE(Value::array({1, 2}) == Value::array({2, 1}));
  CHECK_FALSE(Value() == Value(0));
}

TEST_CASE("a value prints as TOML that reads back to the same bits") {
  const Value value = Value::table({{"a", 0.1},
                                    {"b c", Value::array({1, -2.0, "q\"\\\n\x01"})},
                                    {"skipped", Value()},
                                    {"big", 1e300},
                                    {"nan", std::numeric_limits<double>::quiet_NaN()}});
  CHECK(trivet::to_toml(value) ==
        "{a = 0.1, \"b c\" = [1, -2.0, \"q\\\"\\\\\\n\\u0001\"], big = 1e+300, nan = nan}");
}

TEST_CASE("TOML and JSON spell a number the same, in the shortest text that reads back") {
  const auto spelled = [](double number) {
    const std::string text = trivet::to_toml(Value(number));
    CHECK(trivet::to_json(Value(number)) == text);
    CHECK(trivet::value_from_json(text, "a number") == Value(number));
    return text;
  };
  CHECK(spelled(1e-7) == "1e-07");
  CHECK(spelled(1e-5) == "1e-05");
  CHECK(spelled(1e-4) == "0.0001");
  CHECK(spelled(0.00025) == "0.00025");
  CHECK(spelled(1) == "1.0");
  CHECK(spelled(-0.0) == "-0.0");
  CHECK(spelled(1e5) == "100000.0");
  CHECK(spelled(1e15) == "1000000000000000.0");
  CHECK(spelled(1e16) == "1e+16");
  // Grisu2, which JSON libraries use, writes a digit too many here.
  CHECK(spelled(1.18633688951503e17) == "1.18633688951503e+17");
  for (double power = 1e-7; power < 2e20; power *= 10) {
    for (const double times : {1.0, 3.0, 1 / 3.0, 1.1}) spelled(power * times);
  }
  const Value list = Value::array({1e-4, 1e5, 2});
  CHECK(trivet::to_toml(list) == "[0.0001, 100000.0, 2]");
  CHECK(trivet::to_json(list, trivet::JsonStyle::spaced) == trivet::to_toml(list));
}

TEST_CASE("JSON has a style for a line, for messages and for files") {
  const Value value = Value::table({{"a", Value::array({1, Value(), true})},
                                    {"b", Value::table({{"\"c\xff", "d\n"}})},
                                    {"none", Value::array()},
                                    {"empty", Value::table()},
                                    {"nan", -std::numeric_limits<double>::quiet_NaN()}});
  using trivet::JsonStyle;
  CHECK(trivet::to_json(value) ==
        R"({"a":[1,null,true],"b":{"\"c�":"d\n"},"none":[],"empty":{},"nan":{"$number":"nan"}})");
  CHECK(trivet::to_json(value, JsonStyle::spaced) ==
        R"({"a": [1, null, true], "b": {"\"c�": "d\n"}, "none": [], "empty": {}, )"
        R"("nan": {"$number": "nan"}})");
  CHECK(trivet::to_json(Value::table({{"a", Value::array({1, Value::table()})}, {"b", "c"}}),
                        JsonStyle::indented) ==
        "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \"c\"\n}\n");
}

TEST_CASE("durations are read from texts") {
  const auto seconds = [](const char* text) { return trivet::parse_duration(text)->seconds; };
  CHECK(seconds("90s") == 90);
  CHECK(seconds("1h30m") == 5400);
  CHECK(seconds("250ms") == 0.25);
  CHECK(seconds("1.5d") == 129600);
  CHECK(seconds("7us") == 7e-6);
  CHECK(seconds("-2m") == -120);
  for (const char* text :
       {"", "-", "90", "s", "1m1h", "1s1s", "1x", "1.2.3s", "1h 30m", "h1", "1e3s"}) {
    INFO(text);
    CHECK_FALSE(trivet::parse_duration(text).has_value());
  }
}

TEST_CASE("a duration prints as a text that reads back") {
  for (const double s : {0.0, 0.25, 1.0, 59.999, 5400.0, 90061.5, -120.0}) {
    CHECK(trivet::parse_duration(trivet::to_string(trivet::Duration(s)))->seconds ==
          Approx(s).epsilon(1e-12));
  }
  CHECK(trivet::to_string(trivet::Duration(5400)) == "1h30m");
}

TEST_CASE("the distance of names counts letters added, lost, changed or swapped") {
  CHECK(trivet::name_distance("", "abc") == 3);
  CHECK(trivet::name_distance("kitten", "sitting") == 3);
  CHECK(trivet::name_distance("scheme", "schmee") == 1);
  CHECK(trivet::name_distance("ca", "abc") == 3);  // optimal string alignment, not full Damerau
}

TEST_CASE("near names are found by distance, by the last word and by case") {
  using Names = std::vector<std::string>;
  const Names known = {"nn/Linear", "nn/LayerNorm", "acme/Conv2d"};
  CHECK(trivet::nearest_names("nn/Liner", known) == Names{"nn/Linear"});
  CHECK(trivet::nearest_names("nn/linear", known) == Names{"nn/Linear"});
  CHECK(trivet::nearest_names("other/Conv2d", known) == Names{"acme/Conv2d"});
  CHECK(trivet::nearest_names("zzz", known).empty());
  CHECK(trivet::nearest_names(std::string(1 << 20, 'x'), known).empty());
  CHECK(trivet::suggestion("zzz", known) == "known: nn/Linear, nn/LayerNorm, acme/Conv2d");
  CHECK(trivet::suggestion("x", {}).empty());
  const Names fields = {"train_steps", "steps_per_loop", "learning_rate", "mode"};
  CHECK(trivet::nearest_names("steps", fields) == Names{"train_steps", "steps_per_loop"});
  CHECK(trivet::nearest_names("lr", fields) == Names{"learning_rate"});
  CHECK(trivet::nearest_names("lp", fields).empty());
  // Of many the first twelve.
  const Names many(13, "b");
  std::string listed = "known: b";
  for (int i = 1; i < 12; ++i) listed += ", b";
  CHECK(trivet::suggestion("zzz", many) == listed + ", ... (13 in all)");
}
