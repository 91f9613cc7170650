// SPDX-License-Identifier: Apache-2.0
// Keys of a search space that are lists of candidates.
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "trivet/search/search_space.h"
#include "trivet/testing/config_check.h"

namespace list_choice_test {

using namespace trivet;
using namespace trivet::search;
using Catch::Contains;

namespace {

const std::vector<Value> kLetters = {"a", "b", "c", "d"};

DimensionConfig manyof(std::int64_t num_choices) {
  DimensionConfig config;
  config.manyof = kLetters;
  config.num_choices = num_choices;
  return config;
}

SearchSpace space_of(const DimensionConfig& config) {
  Map<DimensionConfig> dimensions;
  dimensions["list"] = config;
  return SearchSpace(dimensions);
}

// "abc" of a point's list.
std::string letters(const Value& list) {
  std::string text;
  for (const Value& item : list.items()) text += item.as_string();
  return text;
}

Value list(const std::string& letters) {
  Value items = Value::array();
  for (const char letter : letters) items.push_back(std::string(1, letter));
  return items;
}

// How often each list is at the middles of the cells of all coordinates.
std::map<std::string, int> lists_of(const SearchSpace& space) {
  std::map<std::string, int> lists;
  std::vector<std::int64_t> cells(space.size(), 0);
  for (;;) {
    std::vector<double> unit;
    for (std::size_t d = 0; d < cells.size(); ++d) {
      const auto count = static_cast<double>(space.dimensions()[d].count());
      unit.push_back((static_cast<double>(cells[d]) + 0.5) / count);
    }
    ++lists[letters(space.point(unit)[0].second)];
    std::size_t d = 0;
    while (d < cells.size() && ++cells[d] == space.dimensions()[d].count()) cells[d++] = 0;
    if (d == cells.size()) return lists;
  }
}

std::string refusal(std::initializer_list<std::pair<std::string_view, Value>> fields) {
  try {
    decode<DimensionConfig>(Value::table(fields), "space.ops");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("the elements of a list are chosen by a coordinate each") {
  const SearchSpace space = space_of(manyof(2));
  REQUIRE(space.size() == 2);
  CHECK(space.dimensions()[0].count() == 4);
  CHECK(space.dimensions()[1].count() == 3);
  CHECK(space.keys().size() == 1);
  // By hand: cells of 1/4 for the first; cells of 1/3 for a, b and d, since c is taken.
  const auto at = [&](double first, double second) {
    return letters(space.point(std::vector{first, second})[0].second);
  };
  CHECK(at(0.6, 0.1) == "ca");
  CHECK(at(0.6, 0.5) == "cb");
  CHECK(at(0.6, 0.9) == "cd");
  CHECK(at(-1, 2) == "ad");
  CHECK(space.unit({{"list", list("cd")}}) == std::vector{0.625, 5.0 / 6});
  CHECK(space.dimensions()[1].cell(0.9) == std::pair(2.0 / 3, 1.0));
  CHECK(space.dimensions()[1].middle(0.9) == 5.0 / 6);
  CHECK_THROWS_WITH(space.dimensions()[0].value(0.5), Contains("list: "));
}

// Every list of the rule, as often as each other one: 4!/2!, C(4, 2), 4^2, and the pairs in order,
// of which two unequal candidates have two codes.
TEST_CASE("cells of lists have equal shares") {
  DimensionConfig config = manyof(2);
  std::map<std::string, int> lists = lists_of(space_of(config));
  CHECK(lists.size() == 12);
  for (const auto& [text, count] : lists) CHECK(count == 1);
  config.choices_sorted = true;
  lists = lists_of(space_of(config));
  CHECK(lists.size() == 6);
  for (const auto& [text, count] : lists) {
    CHECK(count == 2);
    CHECK(text[0] < text[1]);
  }
  config.choices_distinct = false;
  lists = lists_of(space_of(config));
  CHECK(lists.size() == 10);
  for (const auto& [text, count] : lists) CHECK(count == (text[0] == text[1] ? 1 : 2));
  config.choices_sorted = false;
  CHECK(lists_of(space_of(config)).size() == 16);
  DimensionConfig all;
  all.permutate = kLetters;
  lists = lists_of(space_of(all));
  CHECK(lists.size() == 24);
  for (const auto& [text, count] : lists) {
    CHECK(std::set<char>(text.begin(), text.end()).size() == 4);
  }
}

TEST_CASE("a list maps to the cube and back") {
  for (const bool distinct : {true, false}) {
    for (const bool sorted : {true, false}) {
      DimensionConfig config = manyof(3);
      config.choices_distinct = distinct;
      config.choices_sorted = sorted;
      const SearchSpace space = space_of(config);
      for (const auto& [text, count] : lists_of(space)) {
        const SearchPoint point = {{"list", list(text)}};
        INFO(text);
        CHECK(space.point(space.unit(point)) == point);
      }
    }
  }
}

TEST_CASE("a value that is no list of the rule is refused") {
  DimensionConfig config = manyof(2);
  const auto has = [&](const Value& value) { return space_of(config).dimensions()[0].has(value); };
  CHECK(has(list("db")));
  CHECK_FALSE(has(list("bb")));
  CHECK_FALSE(has(list("abc")));
  CHECK_FALSE(has(list("ax")));
  CHECK_FALSE(has("ab"));
  config.choices_sorted = true;
  CHECK_FALSE(has(list("db")));
  config.choices_distinct = false;
  CHECK(has(list("bb")));
  CHECK_THROWS_WITH(space_of(config).unit({{"list", list("db")}}),
                    Contains("list: [\"d\", \"b\"] is no value") && Contains("num_choices = 2"));
}

TEST_CASE("lists stand among other keys, and under conditions") {
  Map<DimensionConfig> config;
  config["lr"].uniform = {0.0, 1.0};
  config["list"] = manyof(2);
  config["list"].when["kind"] = "x";
  config["kind"].choice = std::vector<Value>{"x", "y"};
  const SearchSpace space(config);
  REQUIRE(space.size() == 4);
  const SearchPoint with = space.point(std::vector{0.25, 0.6, 0.1, 0.1});
  CHECK(with == SearchPoint{{"lr", 0.25}, {"list", list("ca")}, {"kind", "x"}});
  CHECK(space.point(std::vector{0.25, 0.6, 0.1, 0.9}) == SearchPoint{{"lr", 0.25}, {"kind", "y"}});
  CHECK(space.unit(with) == std::vector{0.25, 0.625, 1.0 / 6, 0.25});
  CHECK(space.active(std::vector{0.25, 0.6, 0.1, 0.9}) ==
        std::vector<bool>{true, false, false, true});
  Diagnostics diagnostics;
  config["lr"].when["list"] = list("ab");
  check_conditions(config, "space", diagnostics);
  CHECK(diagnostics.list().at(0).path == "space.lr.when.list");
}

TEST_CASE("bad lists are refused with their field") {
  const Value letters = Value::array_of(kLetters);
  CHECK_THAT(refusal({{"manyof", letters}}), Contains("space.ops.num_choices: is required"));
  CHECK_THAT(refusal({{"manyof", letters}, {"num_choices", 0}}), Contains("space.ops.num_choices"));
  CHECK_THAT(refusal({{"manyof", letters}, {"num_choices", 65}, {"choices_distinct", false}}),
             Contains("space.ops.num_choices"));
  CHECK_THAT(refusal({{"manyof", letters}, {"num_choices", 5}}),
             Contains("space.ops.num_choices: is 5, and manyof has 4 candidates") &&
                 Contains("choices_distinct = false"));
  CHECK(refusal({{"manyof", letters}, {"num_choices", 5}, {"choices_distinct", false}}) ==
        "accepted");
  CHECK_THAT(refusal({{"manyof", Value::array({1, 1})}, {"num_choices", 1}}),
             Contains("space.ops.manyof: 1 is listed twice"));
  CHECK_THAT(refusal({{"permutate", letters}, {"num_choices", 2}}),
             Contains("space.ops.num_choices: is for manyof only"));
  CHECK_THAT(refusal({{"choice", letters}, {"choices_sorted", true}}),
             Contains("space.ops.choices_sorted: is for manyof only"));
  CHECK_THAT(refusal({{"permutate", letters}, {"choice", letters}}),
             Contains("sets more than one kind of values"));
  Value many = Value::array();
  for (int i = 0; i < 65; ++i) many.push_back(i);
  CHECK_THAT(refusal({{"permutate", many}}),
             Contains("space.ops.permutate: has 65 candidates") && Contains("at most 64"));
}

TEST_CASE("the config of a list survives the way to a file and back") {
  DimensionConfig config = manyof(2);
  config.choices_distinct = false;
  config.choices_sorted = true;
  const auto report = trivet::testing::check_config(config);
  INFO(report.text());
  CHECK(report.passed());
  CHECK(space_of(config).dimensions()[0].text() ==
        R"(manyof = ["a", "b", "c", "d"], num_choices = 2, choices_distinct = false, )"
        "choices_sorted = true");
}

}  // namespace list_choice_test
