// SPDX-License-Identifier: Apache-2.0
// All errors of a config are reported together, with location, path and a hint.
#include <algorithm>

#include <catch2/catch.hpp>

#include "config_types.h"

using namespace config_test;
using trivet::ConfigError;
using trivet::decode;
using trivet::Diagnostic;
using trivet::Value;

namespace {

template <class C>
std::vector<Diagnostic> problems_of(const Value& value, std::string_view path = "") {
  try {
    decode<C>(value, path);
  } catch (const ConfigError& error) {
    CHECK(error.exit_code() == 2);
    return error.diagnostics();
  }
  return {};
}

// The only error of `value` as the field `key` of Everything.
Diagnostic problem_with(std::string_view key, Value value) {
  Value table = Value::table({{"big", 1}});
  table.set(key, std::move(value));
  const auto diagnostics = problems_of<Everything>(table);
  INFO(key);
  REQUIRE(diagnostics.size() == 1);
  return diagnostics[0];
}

Value at(Value value, int line, int column = 1) {
  value.set_origin({.file = "c.toml", .line = line, .column = column});
  return value;
}

}  // namespace

TEST_CASE("a typo in a key is reported with its location and the nearest name") {
  Value table = Value::table({{"big", 1}});
  table.members().push_back(
      {"realm", at(Value(1), 7, 9), {.file = "c.toml", .line = 7, .column = 1}});
  const auto diagnostics = problems_of<Everything>(table, "top");
  REQUIRE(diagnostics.size() == 1);
  CHECK(to_string(diagnostics[0]) ==
        "c.toml:7:1: top.realm: unknown key 'realm' (did you mean 'real'?)");
}

TEST_CASE("a far-off key is answered with the names there are") {
  const auto diagnostics = problems_of<Point>(Value::table({{"epsilon", 1}}));
  REQUIRE(diagnostics.size() == 1);
  CHECK(diagnostics[0].hint == "known: x, tags");
}

TEST_CASE("a key in the wrong table is sent to the right one") {
  const Diagnostic problem = problem_with("heads", 3);
  CHECK(problem.hint.find("wrong table") == std::string::npos);
  const auto diagnostics = problems_of<Block>(Value::table({{"heads", 3}}));
  REQUIRE(diagnostics.size() == 1);
  CHECK(diagnostics[0].hint == "it is in the wrong table: 'heads' belongs to [attention]");
}

TEST_CASE("a table in the wrong table is not a key of a similar name") {
  const auto diagnostics =
      problems_of<Block>(Value::table({{"attentoin", Value::table({{"heads", 3}})}}));
  REQUIRE(diagnostics.size() == 1);
  CHECK(diagnostics[0].hint == "did you mean 'attention'?");
}

TEST_CASE("a value of the wrong type is reported with the expected and the found type") {
  CHECK(problem_with("flag", 1).what == "expected true or false, found an integer, 1");
  CHECK(problem_with("small", 1.5).what == "expected an integer, found a float, 1.5");
  CHECK(problem_with("real", "x").what == "expected a number, found a string, \"x\"");
  CHECK(problem_with("text", 1).what == "expected a string, found an integer, 1");
  CHECK(problem_with("color", 1).what == "expected a string, found an integer, 1");
  CHECK(problem_with("file", false).what ==
        "expected a string with a file name, found a boolean, false");
  CHECK(problem_with("point", 1).what == "expected a table, found an integer");
  CHECK(problem_with("words", "a").what == "expected an array, found a string, \"a\"");
  CHECK(problem_with("weights", Value::array()).what == "expected a table, found an array");
  CHECK(problem_with("wait", "soon").what.find("such as \"90s\"") != std::string::npos);
  CHECK(problem_with("gadget", true).what ==
        "expected a table with a 'type', or the type alone, found a boolean, true");
  CHECK(problem_with("gadget", Value::table()).what == "the 'type' of the gadget is missing");
}

TEST_CASE("problems inside lists and maps name the element") {
  CHECK(problem_with("words", Value::array({"a", 2})).path == "words[1]");
  CHECK(problem_with("grid", Value::array({Value::array({1, "x"})})).path == "grid[0][1]");
  CHECK(problem_with("weights", Value::table({{"a b", "x"}})).path == "weights.\"a b\"");
  CHECK(problem_with("points", Value::array({Value::table({{"y", 1}})})).path == "points[0].y");
}

TEST_CASE("numbers out of range are refused, NaN included") {
  CHECK(problem_with("single", 2).what == "must be in (0, 2), found 2");
  CHECK(problem_with("single", 0.0).what == "must be in (0, 2), found 0.0");
  CHECK(problem_with("real", 10.5).what == "must be <= 10, found 10.5");
  CHECK(problem_with("real", std::stod("nan")).what == "must be <= 10, found nan");
  CHECK(problem_with("wait", "500ms").what == "must be >= 1, found \"500ms\"");
  CHECK(problem_with("weights", Value::table({{"a", -1}})).what == "must be >= 0, found -1");
  CHECK(problem_with("grid", Value::array({Value::array({10})})).path == "grid[0][0]");
}

TEST_CASE("integers must fit the member's type") {
  CHECK(problem_with("small", 128).what == "must be between -128 and 127, found 128");
  CHECK(problem_with("port", -1).what == "must be between 0 and 65535, found -1");
  CHECK(problem_with("bytes", -1).what.starts_with("must be between 0 and 9223372036854775807"));
}

TEST_CASE("a number too large for a float is refused, infinity is not") {
  CHECK(problem_with("single", 1e39).what == "does not fit a 32-bit float");
  CHECK(problem_with("single", std::stod("inf")).what == "must be in (0, 2), found inf");
}

TEST_CASE("an integer is accepted where a float is expected") {
  CHECK(decode<Everything>(Value::table({{"big", 1}, {"real", 3}})).real == 3.0);
}

TEST_CASE("a missing required key is reported with its doc") {
  const auto diagnostics = problems_of<Everything>(at(Value::table(), 3));
  REQUIRE(diagnostics.size() == 1);
  CHECK(to_string(diagnostics[0]) == "c.toml:3:1: the required key 'big' is missing (64 bits.)");
}

TEST_CASE("a wrong choice lists the right ones") {
  const Diagnostic color = problem_with("color", "gren");
  CHECK(color.what == "'gren' is not one of: red, green, default");
  CHECK(color.hint == "did you mean 'green'?");
  CHECK(problem_with("mode", "slow").what == "'slow' is not one of: fast, exact");
}

TEST_CASE("an old and a new name together are refused") {
  Value table =
      Value::table({{"big", 1}, {"words", Value::array()}, {"old_words", Value::array()}});
  const auto diagnostics = problems_of<Everything>(table);
  REQUIRE(diagnostics.size() == 1);
  CHECK(diagnostics[0].path == "old_words");
}

TEST_CASE("all problems are reported together, in the order of the file") {
  Value table = Value::table();
  table.set("real", at("x", 9));
  table.set("flag", at(3, 2));
  table.set("wrods", at(1, 5));
  table.set("big", at(0, 4));
  const auto diagnostics = problems_of<Everything>(table);
  REQUIRE(diagnostics.size() == 4);
  CHECK(diagnostics[0].path == "flag");
  CHECK(diagnostics[1].path == "big");
  CHECK(diagnostics[2].path == "wrods");
  CHECK(diagnostics[3].path == "real");
}

TEST_CASE("a rule over several fields is checked at every depth and names the field") {
  const auto bad = Value::table({{"dims", at(9, 2)}});
  const auto diagnostics = problems_of<Block>(
      Value::table({{"attention", bad}, {"more", Value::array({Value::table(), bad})}}), "model");
  REQUIRE(diagnostics.size() == 2);
  CHECK(to_string(diagnostics[0]) ==
        "c.toml:2:1: model.attention.dims: must be a multiple of heads");
  CHECK(diagnostics[1].path == "model.more[1].dims");
}

TEST_CASE("a bare number for a kind without an item for numbers is refused") {
  const Diagnostic problem = problem_with("gadget", 3);
  CHECK(problem.what.find("no plugin says what a bare number means") != std::string::npos);
}

TEST_CASE("a rule may name a location further down, which is found as far as it is written") {
  const trivet::Value written = [] {
    trivet::Value inner = trivet::Value::table({{"size", 3}});
    inner.set_origin({.file = "c.toml", .line = 4, .column = 1});
    inner.find("size")->set_origin({.file = "c.toml", .line = 5, .column = 8});
    inner.set("other", 1);  // a default has no location
    return trivet::Value::table({{"inner", inner}});
  }();
  trivet::Diagnostics diagnostics;
  const trivet::Diagnostics::Inside inside(diagnostics, "task", written);
  diagnostics.add("inner.size", "is odd");
  diagnostics.add("inner.other", "is odd, too");
  diagnostics.add("inner.gone.further", "is missing");
  diagnostics.add("", "is all wrong");
  REQUIRE(diagnostics.list().size() == 4);
  CHECK(to_string(diagnostics.list()[0]) == "c.toml:5:8: task.inner.size: is odd");
  CHECK(to_string(diagnostics.list()[1]) == "c.toml:4:1: task.inner.other: is odd, too");
  CHECK(to_string(diagnostics.list()[2]) == "c.toml:4:1: task.inner.gone.further: is missing");
  CHECK(to_string(diagnostics.list()[3]) == "task: is all wrong");
}
