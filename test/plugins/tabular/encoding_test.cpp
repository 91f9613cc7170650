// SPDX-License-Identifier: Apache-2.0
// Rows encoded as arrays; and encodings in files, valid and invalid.
#include <cmath>

#include <catch2/catch.hpp>

#include "table.h"
#include "tabular/table_encoder.h"

namespace tabular_encoding_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using tabular::Encoding;
using tabular::TableEncoder;
using tabular::Target;

namespace {

// All rows of `text` as one batch, with the encoding learned from `training`.
Batch encoded(const std::string& text, const std::string& training = kPeople,
              Target target = Target::number, const std::string& label = "income") {
  auto encoding =
      std::make_shared<const Encoding>(fitted(CsvFile(training), predicting(label), target));
  CsvFile file(text);
  auto input = file.input(Phase::evaluation);
  input.set_encoder(std::make_shared<TableEncoder>(encoding, input));
  return *input.get_next();
}

std::string complaint(const std::string& text, Target target = Target::number,
                      const std::string& label = "income") {
  return complaint_of([&] { encoded(text, kPeople, target, label); });
}

Encoding changed(const std::string& from, const std::string& to) {
  const TempDir dir;
  tabular::save_encoding(fitted(CsvFile(kPeople), predicting("income")), dir / "table.json");
  std::string text = read_file(dir / "table.json");
  REQUIRE(text.find(from) != std::string::npos);
  text.replace(text.find(from), from.size(), to);
  return tabular::load_encoding(dir.write("table.json", text));
}

}  // namespace

TEST_CASE("rows become standardized numbers, indicators, ids and labels") {
  const Batch batch = encoded(kPeople);
  // age 20, gap, 40, 30 has mean 30 and deviation sqrt(200 / 3); code 1, 2, 1, 2 mean 1.5 and 0.5.
  CHECK(batch.at("numbers").shape() == Shape{4, 3});
  const auto numbers = batch.at("numbers").to_host<float>();
  const float away = static_cast<float>(10 / std::sqrt(200.0 / 3));
  CHECK(numbers == std::vector<float>{-away, -1, 0, 0, 1, 1, away, -1, 0, 0, 1, 0});
  CHECK(batch.at("categories").shape() == Shape{4, 1});
  CHECK(batch.at("categories").to_host<std::int32_t>() == std::vector<std::int32_t>{2, 3, 2, 0});
  CHECK(batch.at("label").to_host<float>()[3] ==
        Approx(30 / std::sqrt(350.0)).epsilon(1e-6));  // f32
}

TEST_CASE("evaluation rows use the training encoding, with columns in any order") {
  const Batch batch = encoded("more,income,city,age,code\nx,30,Rome,50,3\ny,30,Ulm,,1\n");
  const auto numbers = batch.at("numbers").to_host<float>();
  CHECK(numbers[0] == Approx(20 / std::sqrt(200.0 / 3)).epsilon(1e-6));  // f32
  CHECK(numbers[1] == 3);
  CHECK(numbers[3] == 0);
  CHECK(numbers[5] == 1);
  const auto ids = batch.at("categories").to_host<std::int32_t>();
  CHECK(ids[0] == tabular::kUnseenId);
  CHECK(ids[1] == 3);
  CHECK(batch.at("label").to_host<float>()[0] == 0);
}

TEST_CASE("labels of a classification are locations among the classes") {
  const Batch batch =
      encoded("age,code,city,income\n1,1,,Ulm\n",
              "id,age,code,city,income\na,1,1,x,Ulm\nb,2,1,x,Aue\n", Target::classes);
  CHECK(batch.at("label").dtype() == DType::i32);
  CHECK(batch.at("label").to_host<std::int32_t>()[0] == 1);
}

TEST_CASE("rows that cannot be encoded are refused by row and column") {
  CHECK_THAT(complaint("age,code,city,income\n1,1,x,1\nold,1,x,1\n"),
             Contains("table.csv:3: row 2, column 'age': 'old' is not a number"));
  CHECK_THAT(complaint("age,code,city,income\n1,1,x,\n"), Contains("the label is missing"));
  CHECK_THAT(complaint("age,code,city,income\n1,1,x,rich\n"),
             Contains("the label 'rich' is not a number"));
  CHECK_THAT(complaint("age,code,city,income\n1,1e300,x,1\n"),
             Contains("column 'code': the number is too large"));
  CHECK_THAT(complaint("age,code,city,income\n1,1,x,1e39\n"),
             Contains("column 'income': the number is too large"));
  CHECK_THAT(complaint("age,code,income\n1,1,1\n"), Contains("no column 'city'"));
  CHECK_THAT(complaint("age,code,city,income\n1,1,ulm,4\n", Target::classes, "income"),
             Contains("no training row has the label '4'"));
}

TEST_CASE("an encoding comes back from its file") {
  const TempDir dir;
  for (const Target target : {Target::number, Target::classes}) {
    const Encoding encoding = fitted(CsvFile(kPeople), predicting("income"), target);
    tabular::save_encoding(encoding, dir / "table.json");
    const Encoding back = tabular::load_encoding(dir / "table.json");
    CHECK(back.label == "income");
    CHECK(back.classes == encoding.classes);
    CHECK(back.label_std == encoding.label_std);
    REQUIRE(back.numbers.size() == 2);
    CHECK(back.numbers[0].std == encoding.numbers[0].std);
    CHECK(back.numbers[0].fill == encoding.numbers[0].fill);
    CHECK(back.numbers[0].indicator);
    REQUIRE(back.categories.size() == 1);
    CHECK(back.categories[0].values == encoding.categories[0].values);
    CHECK(back.training == encoding.training);
  }
}

TEST_CASE("a file that is not an encoding is refused by name") {
  CHECK_THROWS_WITH(changed("\"table_encoding\": 1", "\"table_encoding\": 2"),
                    Contains("table.json is not the encoding of a table: its version is not 1"));
  CHECK_THROWS_WITH(changed("\"std\": 18", "\"std\": -18"), Contains("std is not positive"));
  CHECK_THROWS_WITH(changed("\"mean\": 30.0", "\"mean\": 1e999"), Contains("table.json"));
  CHECK_THROWS_WITH(changed("\"Ulm\"", "\"Bonn\""), Contains("values contains a duplicate text"));
  CHECK_THROWS_WITH(changed("\"numbers\"", "\"number\""), Contains("numbers"));
  CHECK_THROWS_WITH(changed("{", ""), Contains("table.json is not the encoding"));
  CHECK_THROWS_WITH(changed("\"indicator\": true", "\"indicator\": 1"), Contains("boolean"));
  const TempDir dir;
  CHECK_THROWS_WITH(tabular::load_encoding(dir / "none.json"),
                    Contains("cannot read") && Contains("none.json"));
}

}  // namespace tabular_encoding_test
