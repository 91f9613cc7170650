// SPDX-License-Identifier: Apache-2.0
// Sweeps: the products, names and tags of kxm's sweeps, and ranges.
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sweeps/dimension.h"
#include "sweeps/named_sweep.h"
#include "sweeps/simple_sweep.h"
#include "trivet/config/json.h"

using namespace trivet;
using namespace trivet::sweeps;
using Catch::Contains;

namespace {

std::string texts(const std::vector<launch::SweepItem>& items) {
  std::string text;
  for (const launch::SweepItem& item : items) {
    if (!text.empty()) text += " ";
    std::string members;
    for (const auto& [name, value] : item.args) {
      members += (members.empty() ? "" : ",") + name + "=" + to_json(value);
    }
    text += members.empty() ? "-" : members;
  }
  return text;
}

launch::SweepContext context(std::vector<std::string> names) {
  launch::SweepContext given;
  given.names = std::move(names);
  given.sweeps = Value::table(
      {{"default", Value::table({{"seed", Value::array({1, 2})}})},
       {"lr", Value::table({{"lr", Value::array({0.1, 0.2})}, {"wd", Value::array({0, 1})}})},
       {"pairs", Value::table({{"zip", true},
                               {"a", Value::array({1, 2})},
                               {"b", Value::table({{"range", Value::array({5, 7})}})}})},
       {"points", Value::array({Value::table({{"a", 1}}), Value::table({{"a", 2}, {"c", 3}})})},
       {"again", Value::table({{"seed", Value::array({9})}})}});
  return given;
}

std::string named(std::vector<std::string> names) {
  return texts(ConfigSweep({}, context(std::move(names))).items());
}

std::string values(const Value& dimension) {
  std::string text;
  for (const Value& value : values_of(dimension, "x")) {
    text += (text.empty() ? "" : " ") + to_json(value);
  }
  return text;
}

Value one(std::string_view name, Value::Array list) {
  return Value::table({{name, Value(std::move(list))}});
}

}  // namespace

TEST_CASE("a simple sweep is the list that is written down") {
  SimpleSweepConfig config;
  config.items = {Value::table({{"batch_size", 64}, {"x", "a"}}), Value::table()};
  CHECK(texts(SimpleSweep(config, {}).items()) == "batch_size=64,x=\"a\" -");
  CHECK_FALSE(SimpleSweep(config, {}).needs_names());
  config.items = {Value(3)};
  CHECK_THROWS_WITH(SimpleSweep(config, {}), Contains("expected a table, found 3"));
}

TEST_CASE("the lines of a sweep make their product, the first one slowest") {
  CHECK(named({}) == "seed=1 seed=2");
  CHECK(named({"default"}) == "seed=1 seed=2");
  CHECK(named({"lr"}) == "lr=0.1,wd=0 lr=0.1,wd=1 lr=0.2,wd=0 lr=0.2,wd=1");
  CHECK(named({"pairs"}) == "a=1,b=5 a=2,b=6");
  CHECK(named({"points"}) == "a=1 a=2,c=3");
}

TEST_CASE("several sweeps make their product, and the later name wins") {
  CHECK(named({"default", "points"}) == "seed=1,a=1 seed=1,a=2,c=3 seed=2,a=1 seed=2,a=2,c=3");
  CHECK(named({"points", "default"}) == "a=1,seed=1 a=1,seed=2 a=2,c=3,seed=1 a=2,c=3,seed=2");
  CHECK(named({"default", "again"}) == "seed=9 seed=9");  // nothing is removed
  // "*": all, the unnamed one first, the others in alphabetical order.
  CHECK(texts(ConfigSweep({}, context({"*"})).items()) ==
        named({"default", "again", "lr", "pairs", "points"}));
}

TEST_CASE("unknown sweeps are reported with the known ones") {
  CHECK_THROWS_WITH(named({"nope"}), Contains("'nope'") && Contains("again, default, lr"));
  launch::SweepContext loose;
  loose.sweeps = Value::table({{"seed", Value::array({1, 2})}});
  CHECK_THROWS_WITH(ConfigSweep({}, loose).items(),
                    Contains("no [sweep.default]") && Contains("[sweep.default] above seed"));
  launch::SweepContext none;
  none.sweeps = Value::table();
  CHECK_THROWS_WITH(ConfigSweep({}, none).items(), Contains("no [sweep.default]"));
  CHECK(ConfigSweep({}, none).needs_names());
}

TEST_CASE("an invalid sweep is refused with the value that was found") {
  const auto of = [](const Value& sweep) {
    launch::SweepContext given;
    given.names = {"x"};
    given.sweeps = Value::table({{"x", sweep}});
    return texts(ConfigSweep({}, given).items());
  };
  CHECK_THROWS_WITH(of(3), Contains("expected a table or a list of tables, found 3"));
  CHECK_THROWS_WITH(of(Value::array({Value::table({{"a", 1}}), 2})),
                    Contains("expected a table, found 2"));
  // A parameter may have this name.
  CHECK(of(Value::table({{"zip", Value::array({1, 2})}})) == "zip=1 zip=2");
  CHECK(of(Value::table({{"zip", false}, {"a", Value::array({1, 2})}})) == "a=1 a=2");
  CHECK(of(Value::table()).empty());
}

TEST_CASE("a sweep makes at most as many work units as an experiment may have") {
  const auto count = [](const Value& sweep) {
    launch::SweepContext given;
    given.names = {"x"};
    given.sweeps = Value::table({{"x", sweep}});
    return ConfigSweep({}, given).items().size();
  };
  const Value most = one("range", {0, 100'000}), more = one("range", {0, 100'001});
  const Value hundred = one("range", {0, 100}), thousand = one("range", {0, 1000});
  CHECK(count(Value::table({{"a", most}})) == launch::kMostUnits);
  CHECK(count(Value::table({{"a", thousand}, {"b", hundred}})) == launch::kMostUnits);
  const char* const kWhy = "more than 100,000 work units";
  CHECK_THROWS_WITH(count(Value::table({{"a", more}})), Contains(kWhy));
  CHECK_THROWS_WITH(count(Value::table({{"zip", true}, {"a", more}})), Contains(kWhy));
  CHECK_THROWS_WITH(count(Value::table({{"a", thousand}, {"b", thousand}})), Contains(kWhy));
}

TEST_CASE("sweeps set tags, and whether they vary the config") {
  CHECK(ConfigSweep({}, context({"lr", "pairs"})).tags() ==
        std::vector<std::string>{"sweep:lr", "sweep:pairs"});
  const launch::SweepContext given = context({});
  for (const launch::SweepItem& item : ConfigSweep({}, given).items()) {
    CHECK(item.target == launch::SweepTarget::argument);
  }
  for (const launch::SweepItem& item : TrainerSweep({}, given).items()) {
    CHECK(item.target == launch::SweepTarget::config);
  }
}

TEST_CASE("zipped lists must have equal lengths") {
  launch::SweepContext given = context({"pairs"});
  given.sweeps.find("pairs")->set("a", Value::array({1}));
  CHECK_THROWS_WITH(ConfigSweep({}, given).items(), Contains("'a' has 1 values, 'b' has 2"));
}

TEST_CASE("ranges make numbers as people would write them") {
  CHECK(values(Value::array({"a", 1})) == "\"a\" 1");
  CHECK(values(one("range", {0, 10, 3})) == "0 3 6 9");
  CHECK(values(one("range", {0, 3})) == "0 1 2");
  CHECK(values(one("range", {3})) == "0 1 2");
  CHECK(values(one("range", {2.5})) == "0.0 1.0 2.0");
  CHECK(values(one("range", {3, 0, -1})) == "3 2 1");
  CHECK(values(one("range", {0, 0})) == "");
  CHECK(values(one("range", {0.5, 3})) == "0.5 1.5 2.5");
  CHECK(values(one("range", {1, 2, 0.5})) == "1.0 1.5");
  // Without drift: the sum of tenths is 0.30000000000000004.
  CHECK(values(one("range", {0, 0.5, 0.1})) == "0.0 0.1 0.2 0.3 0.4");
  CHECK(values(one("linspace", {0, 1, 5})) == "0.0 0.25 0.5 0.75 1.0");
  CHECK(values(one("linspace", {2, 7, 1})) == "2.0");
  CHECK(values(one("logspace", {1e-4, 1e-1, 4})) == "0.0001 0.001 0.01 0.1");
}

TEST_CASE("ranges that make no sense are refused") {
  const auto refused = [](const Value& dimension, const char* why) {
    CHECK_THROWS_WITH(values_of(dimension, "x"), Contains(why));
  };
  refused(3, "expected a list of values, found 3");
  refused(Value::table({{"rang", Value::array({0, 1})}}), "expected a list of values");
  refused(one("range", {}), "[stop], [start, stop] or [start, stop, step]");
  refused(one("range", {0, "a"}), "range takes numbers");
  refused(one("range", {0, 1, 0}), "must not be 0");
  refused(one("range", {0, 1e12}), "more than 1,000,000 values");
  refused(one("linspace", {0, 1, 0}), "makes 1 to 1,000,000 values");
  refused(one("linspace", {0, 1, 2.5}), "makes 1 to 1,000,000 values");
  refused(one("linspace", {0, 1, 5, 6}), "linspace takes numbers, [first, last, count]");
  refused(one("logspace", {0, 1, 3}), "numbers above 0");
  refused(one("logspace", {1, 0, 3}), "numbers above 0");
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  refused(one("range", {0, kInfinite}), "range takes numbers");
  refused(one("linspace", {-kInfinite, 1, 3}), "linspace takes numbers");
  refused(Value::table({{"range", Value::array({0, 1})}, {"linspace", Value::array({0, 1, 2})}}),
          "expected a list of values");
}
