// SPDX-License-Identifier: Apache-2.0
// Learning from training rows: kinds of columns, means, gaps, vocabularies and classes, against
// values by hand; and invalid tables.
#include <cmath>

#include <catch2/catch.hpp>

#include "table.h"
#include "tabular/fingerprint.h"

namespace tabular_fit_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using tabular::Encoding;
using tabular::Impute;
using tabular::TabularConfig;
using tabular::Target;

namespace {

std::string complaint(const std::string& text, const TabularConfig& config,
                      Target target = Target::number) {
  const CsvFile file(text);
  return complaint_of([&] { fitted(file, config, target); });
}

// The only numeric column next to the label.
tabular::NumberColumn column_of(const std::string& values, TabularConfig config = {}) {
  config.label = "y";
  std::string text = "x,y\n";
  for (const char c : values + "\n") text += c == '\n' ? ",1\n" : std::string(1, c);
  return fitted(CsvFile(text), config).numbers.at(0);
}

}  // namespace

TEST_CASE("numeric and categorical columns are detected, and the config can override it") {
  const CsvFile file(kPeople);
  TabularConfig config = predicting("income");
  Encoding encoding = fitted(file, config);
  REQUIRE(encoding.numbers.size() == 2);
  CHECK(encoding.numbers[0].name == "age");
  CHECK(encoding.numbers[1].name == "code");
  REQUIRE(encoding.categories.size() == 1);
  CHECK(encoding.categories[0].values == std::vector<std::string>{"Bonn", "Ulm"});
  CHECK(encoding.classes.empty());

  config.categorical = {"code"};
  encoding = fitted(file, config);
  CHECK(encoding.numbers.size() == 1);
  REQUIRE(encoding.categories.size() == 2);
  CHECK(encoding.categories[1].values == std::vector<std::string>{"1", "2"});
  CHECK(encoding.category_sizes() == std::vector<std::int64_t>{4, 4});

  config.ignore.clear();
  config.categorical.clear();
  config.features = {"city"};
  encoding = fitted(file, config);
  CHECK(encoding.numbers.empty());
  CHECK(encoding.categories.size() == 1);
}

TEST_CASE("numbers are centered and scaled by the mean and deviation of the training rows") {
  const Encoding encoding = fitted(CsvFile(kPeople), predicting("income"));
  // age: 20, 40, 30; income: 10, 20, 30, 60.
  CHECK(encoding.numbers[0].mean == 30);
  CHECK(encoding.numbers[0].std == Approx(std::sqrt(200.0 / 3)).epsilon(1e-15));
  CHECK(encoding.label_mean == 30);
  CHECK(encoding.label_std == Approx(std::sqrt(350.0)).epsilon(1e-15));
  TabularConfig config = predicting("income");
  config.standardize = false;
  const Encoding plain = fitted(CsvFile(kPeople), config);
  CHECK(plain.numbers[0].mean == 0);
  CHECK(plain.numbers[0].std == 1);
  CHECK(plain.numbers[0].fill == 30);
  CHECK(plain.label_std == encoding.label_std);
}

TEST_CASE("a column of one value becomes zeros, not a division by zero") {
  const auto column = column_of("0.1\n0.1\n0.1");
  CHECK(column.mean == 0.1);
  CHECK(column.std == 1);
}

TEST_CASE("a missing number is filled with mean, median or the most frequent value") {
  const auto fill = [](const std::string& values, Impute impute) {
    TabularConfig config;
    config.impute = impute;
    return column_of(values, config).fill;
  };
  CHECK(fill("1\nNA\n2\n6", Impute::mean) == 3);
  CHECK(fill("6\nNA\n1\n2", Impute::median) == 2);
  CHECK(fill("6\n1\n2\n3", Impute::median) == 2.5);
  CHECK(fill("6\n2\n6\n2\n1", Impute::most_frequent) == 2);
  TabularConfig config;
  config.impute_columns = {{"x", Impute::median}};
  CHECK(column_of("1\n2\n9", config).fill == 2);
}

TEST_CASE("a column has an indicator where training rows lack its number") {
  CHECK(column_of("1\nNA\n2").indicator);
  CHECK_FALSE(column_of("1\n2").indicator);
  TabularConfig config;
  config.indicators = false;
  CHECK_FALSE(column_of("1\nNA\n2", config).indicator);
  CHECK(fitted(CsvFile(kPeople), predicting("income")).number_features() == 3);
}

TEST_CASE("a vocabulary has the frequent values first, and rare ones not at all") {
  const CsvFile file("x,y\nc,1\nb,1\na,1\nb,1\na,1\nd,1\nb,1\n");
  TabularConfig config;
  config.label = "y";
  const auto values = [&] { return fitted(file, config).categories.at(0).values; };
  CHECK(values() == std::vector<std::string>{"b", "a", "c", "d"});
  config.min_count = 2;
  CHECK(values() == std::vector<std::string>{"b", "a"});
  config.max_categories = 1;
  CHECK(values() == std::vector<std::string>{"b"});
  config.min_count = 9;
  CHECK(values().empty());
}

TEST_CASE("classes are in the order of their numbers, or of their texts") {
  TabularConfig config;
  config.label = "y";
  const auto classes = [&](const std::string& text) {
    return fitted(CsvFile(text), config, Target::classes).classes;
  };
  CHECK(classes("x,y\n1,10\n1,9\n1,-1\n1,9\n") == std::vector<std::string>{"-1", "9", "10"});
  CHECK(classes("x,y\n1,b10\n1,b9\n1,a\n") == std::vector<std::string>{"a", "b10", "b9"});
}

TEST_CASE("a column that is mostly numbers is not taken for categories by a slip") {
  TabularConfig config;
  config.label = "y";
  CHECK_THAT(complaint("x,y\n1,1\n\"1,5\",1\n2,1\n", config),
             Contains("table.csv:3: row 2, column 'x': '1,5' is not a number") &&
                 Contains("2 of the column's 3 values are") && Contains("decimal_mark"));
  CHECK_THAT(complaint("x,y\n1e999,1\n3,1\n2,1\n", config), Contains("'1e999' is not a number"));
  config.categorical = {"x"};
  CHECK(complaint("x,y\n1,1\n\"1,5\",1\n2,1\n", config).empty());
  config.categorical.clear();
  CHECK(complaint("x,y\na1,1\nb,1\n2,1\n", config).empty());
  config.numeric = {"x"};
  CHECK_THAT(
      complaint("x,y\na1,1\nb,1\n2,1\n", config),
      Contains("table.csv:2: row 1, column 'x': 'a1' is not a number") && Contains("numeric"));
}

TEST_CASE("a column without any value is refused by name") {
  TabularConfig config;
  config.label = "y";
  CHECK_THAT(
      complaint("x,z,y\nNA,1,1\n,2,2\n", config),
      Contains("column 'x' has no value in any of the 2 training rows") && Contains("ignore"));
}

TEST_CASE("labels must exist and suit the task") {
  TabularConfig config;
  config.label = "y";
  CHECK_THAT(complaint("x,y\n1,2\n2,NA\n", config),
             Contains("table.csv:3: row 2, column 'y': the label is missing") &&
                 Contains("drop_missing = [\"y\"]"));
  CHECK_THAT(complaint("x,y\n1,2\n2,two\n", config),
             Contains("the label 'two' is not a number") && Contains("tabular/Classification"));
  CHECK_THAT(complaint("x,y\n1,2\n2,2\n", config, Target::classes),
             Contains("all training rows have the label '2'"));
  config.max_categories = 2;
  CHECK_THAT(complaint("x,y\n1,2\n2,3\n2,4\n", config, Target::classes),
             Contains("3 different labels, more than max_categories = 2") &&
                 Contains("tabular/Regression"));
}

TEST_CASE("unknown column names are refused with the nearest") {
  const auto with = [](auto change) {
    TabularConfig config = predicting("income");
    change(config);
    return complaint(kPeople, config);
  };
  CHECK_THAT(with([](auto& c) { c.label = "incom"; }),
             Contains("no column 'incom'") && Contains("'income'"));
  CHECK_THAT(with([](auto& c) { c.ignore = {"ids"}; }), Contains("'ids'") && Contains("'id'"));
  CHECK_THAT(with([](auto& c) { c.numeric = {"Age"}; }),
             Contains("numeric: 'Age' is not a feature") && Contains("'age'"));
  CHECK_THAT(with([](auto& c) { c.categorical = {"id"}; }), Contains("categorical: 'id'"));
  CHECK_THAT(with([](auto& c) {
               c.impute_columns = {{"ag", Impute::mean}};
             }),
             Contains("impute_columns: 'ag'"));
  TabularConfig config;
  config.label = "a";
  CHECK_THAT(complaint("a\n1\n", config), Contains("no column to predict 'a' from"));
  CHECK_THAT(complaint("a;b\n1;2\n", config), Contains("is the delimiter right?"));
}

TEST_CASE("numbers too large for a mean are refused") {
  TabularConfig config;
  config.label = "y";
  CHECK_THAT(complaint("x,y\n1e308,1\n1.5e308,1\n", config), Contains("column 'x' are too large"));
  CHECK_THAT(complaint("x,y\n1,1\n2,-1e39\n", config),
             Contains("row 2, column 'y': the number is too large"));
}

TEST_CASE("a changed table is described by rows, columns and values") {
  const auto print = [](const std::string& text) {
    auto input = CsvFile(text).input();
    return tabular::fingerprint_of(input);
  };
  const auto before = print(kPeople);
  const auto now = [&](const std::string& from, const std::string& to) {
    std::string text = kPeople;
    text.replace(text.find(from), from.size(), to);
    return tabular::changes(before, print(text));
  };
  CHECK(now("Ulm", "Ulm").empty());
  CHECK(now("a,20,Bonn", "\"a\",20,\"Bonn\"").empty());
  CHECK(now("Ulm", "Bern") == "other values in 'city'");
  CHECK(now("d,30,,2,60\n", "") == "now 3 rows, before 4");
  CHECK(now("city", "town") == "column 'city' is missing; column 'town' is new");
}

}  // namespace tabular_fit_test
