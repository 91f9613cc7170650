// SPDX-License-Identifier: Apache-2.0
// data/Csv as an input: splits of a file, batches, locations in the data, and encoders.
#include <algorithm>
#include <map>
#include <set>

#include <catch2/catch.hpp>

#include "plugins/config_round_trip.h"
#include "plugins/data/csv_files.h"

namespace data_csv_input_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

namespace {

// Rows "0,0", "1,10", "2,20", ...
std::string numbered_rows(int n) {
  std::string text = "n,tens\n";
  for (int i = 0; i < n; ++i) text += std::to_string(i) + "," + std::to_string(10 * i) + "\n";
  return text;
}

struct Seen {
  std::vector<int> rows;  // of the batches, by the first number in each row
  int padding = 0;
  bool operator==(const Seen&) const = default;
};

Seen take(Input& input, int batches = 1000) {
  Seen seen;
  for (int i = 0; i < batches; ++i) {
    const auto batch = input.get_next();
    if (!batch) break;
    const auto numbers = batch->at("numbers").to_host<float>();
    const auto weights = batch->at("weight").to_host<float>();
    for (std::size_t row = 0; row < weights.size(); ++row) {
      CHECK(numbers[2 * row + 1] == 10 * numbers[2 * row]);
      if (weights[row] == 0) {
        ++seen.padding;
      } else {
        seen.rows.push_back(static_cast<int>(numbers[2 * row]));
      }
    }
  }
  return seen;
}

std::set<std::string> first_cells(const CsvFile& file, data::CsvPart part) {
  data::CsvConfig config = file.config;
  config.part = part;
  InputContext context;
  std::set<std::string> cells;
  for (const auto& row : cells_of(data::CsvInput(config, context))) cells.insert(row[0]);
  return cells;
}

class Pairs final : public RowEncoder {
 public:
  const std::vector<Array>& arrays() const override { return arrays_; }
  void encode(const TableRow& row, std::span<float> floats,
              std::span<std::int32_t> integers) const override {
    const auto n = static_cast<float>(*row.number_in(0));
    floats[0] = n + 0.25F;
    floats[1] = n + 0.5F;
    floats[2] = -n;
    integers[0] = static_cast<std::int32_t>(n) + 100;
  }

 private:
  std::vector<Array> arrays_ = {
      {"pair", DType::f32, 2}, {"id", DType::i32, 0}, {"negative", DType::f32, 1}};
};

}  // namespace

TEST_CASE("without an encoder the columns are the numbers of a batch, padded at the end") {
  const CsvFile file(numbered_rows(10));
  auto input = file.input(Phase::evaluation);
  CHECK(input.batches_per_epoch() == 3);
  const Seen seen = take(input);
  CHECK(seen.rows == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(seen.padding == 2);
  input.reset();
  CHECK(take(input) == seen);
}

TEST_CASE("without an encoder a cell that is not a number is refused by row and column") {
  CsvFile file("n,tens\n0,0\n1,ten\n");
  CHECK_THAT(complaint_of([&] { file.input().batches_per_epoch(); }),
             Contains("table.csv:3: row 2, column 'tens': 'ten' is not a number"));
  CHECK_THAT(complaint_of([&] { file.input().get_next(); }), Contains("'ten' is not a number"));
  file.rewrite("n,tens\n0,1e39\n");
  CHECK_THAT(complaint_of([&] { file.input().batches_per_epoch(); }),
             Contains("'1e39' is not a number"));
}

TEST_CASE("a row that its encoder refuses is found when the input gets the encoder") {
  class Refusing final : public RowEncoder {
   public:
    const std::vector<Array>& arrays() const override { return arrays_; }
    void encode(const TableRow& row, std::span<float>, std::span<std::int32_t>) const override {
      if (row.number == 2) throw row.error("tens", "too odd");
    }

   private:
    std::vector<Array> arrays_ = {{"x", DType::f32, 0}};
  };
  const CsvFile file(numbered_rows(3));
  for (const Phase phase : {Phase::training, Phase::evaluation}) {
    auto input = file.input(phase);
    CHECK_THAT(complaint_of([&] { input.set_encoder(std::make_shared<Refusing>()); }),
               Contains("table.csv:3: row 2, column 'tens': too odd"));
  }
}

TEST_CASE("shuffled rows come once an epoch, and from a saved location as they would have") {
  CsvFile file(numbered_rows(20));
  file.config.shuffle = true;
  auto input = file.input();
  const Seen first = take(input, 5);
  CHECK_FALSE(std::is_sorted(first.rows.begin(), first.rows.end()));
  CHECK(std::set<int>(first.rows.begin(), first.rows.end()).size() == 20);
  take(input, 2);
  const Value location = input.save_state();
  auto resumed = file.input();
  resumed.restore_state(location);
  CHECK(take(resumed, 7) == take(input, 7));

  file.rewrite(numbered_rows(19));
  CHECK_THAT(complaint_of([&] { file.input().restore_state(location); }),
             Contains("saved with 20 examples") && Contains("has 19"));
}

TEST_CASE("hosts share the rows of a batch") {
  CsvFile file(numbered_rows(16));
  file.config.shuffle = true;
  const Seen whole = [&] {
    auto input = file.input();
    return take(input, 4);
  }();
  file.config.batch_size = 2;
  file.config.num_infeed_hosts = 2;
  auto first = file.input();
  file.config.infeed_host_index = 1;
  auto second = file.input();
  std::vector<int> together;
  for (int i = 0; i < 4; ++i) {
    for (Input* host : {static_cast<Input*>(&first), static_cast<Input*>(&second)}) {
      const Seen seen = take(*host, 1);
      together.insert(together.end(), seen.rows.begin(), seen.rows.end());
    }
  }
  CHECK(together == whole.rows);
}

TEST_CASE("a split assigns each row to one side by its text alone") {
  CsvFile file(numbered_rows(2000));
  file.config.eval_share = 0.3;
  const auto train = first_cells(file, data::CsvPart::train);
  const auto eval = first_cells(file, data::CsvPart::eval);
  CHECK(train.size() + eval.size() == 2000);
  for (const std::string& row : eval) CHECK_FALSE(train.contains(row));
  // Binomial: 2000 * 0.3 with a standard deviation of 20.5.
  CHECK(eval.size() > 520);
  CHECK(eval.size() < 680);

  CsvFile other("n,tens\r\n\"7\",\"70\"\r\n" + numbered_rows(2000).substr(7));
  other.config.eval_share = 0.3;
  CHECK(first_cells(other, data::CsvPart::eval) == eval);
  file.config.split_seed = 1;
  CHECK(first_cells(file, data::CsvPart::eval) != eval);
}

TEST_CASE("a split by a column keeps rows that agree in it together") {
  std::string text = "n,patient\n";
  for (int i = 0; i < 600; ++i) text += std::to_string(i) + ",p" + std::to_string(i % 60) + "\n";
  CsvFile file(text);
  file.config.split_by = "patient";
  std::map<std::string, std::set<bool>> sides;
  for (const auto part : {data::CsvPart::train, data::CsvPart::eval}) {
    file.config.part = part;
    for (const auto& row : cells_of(file.input())) {
      sides[row[1]].insert(part == data::CsvPart::eval);
    }
  }
  CHECK(sides.size() == 60);
  for (const auto& entry : sides) CHECK(entry.second.size() == 1);
  file.config.split_by = "pateint";
  CHECK_THAT(complaint_about(file), Contains("no column 'pateint'") && Contains("'patient'"));
}

TEST_CASE("an empty side of a split is an error with a hint") {
  CsvFile file("a,b\n1,same\n2,same\n");
  file.config.split_by = "b";
  std::string complaints;
  for (const auto part : {data::CsvPart::train, data::CsvPart::eval}) {
    file.config.part = part;
    complaints += complaint_about(file);
  }
  CHECK_THAT(complaints, Contains("none of its 2 rows is left") && Contains("eval_share"));
}

TEST_CASE("batches hold the encoder's output, in its order and widths") {
  CsvFile file(numbered_rows(6));
  auto input = file.input(Phase::evaluation);
  input.set_encoder(std::make_shared<Pairs>());
  input.get_next();
  const Batch batch = *input.get_next();  // rows 4, 5 and two of padding
  CHECK(batch.at("pair").shape() == Shape{4, 2});
  CHECK(batch.at("negative").shape() == Shape{4, 1});
  CHECK(batch.at("id").shape() == Shape{4});
  const auto pair = batch.at("pair").to_host<float>();
  CHECK(std::vector<float>(pair.begin(), pair.begin() + 4) ==
        std::vector<float>{4.25F, 4.5F, 5.25F, 5.5F});
  CHECK(batch.at("negative").to_host<float>()[1] == -5);
  CHECK(batch.at("id").to_host<std::int32_t>()[0] == 104);
  CHECK(batch.at("weight").to_host<float>() == std::vector<float>{1, 1, 0, 0});
}

TEST_CASE("rows are read and encoded only once") {
  const CsvFile file(numbered_rows(4));
  auto input = file.input();
  CHECK(table_of(input) == &input);
  input.set_encoder(std::make_shared<Pairs>());
  CHECK_THROWS_WITH(input.scan([](const TableRow&) {}), Contains("encoded already"));
  CHECK_THROWS_WITH(input.set_encoder(std::make_shared<Pairs>()), Contains("encoded already"));
  CHECK(input.get_next()->contains("pair"));
  auto plain = file.input();
  plain.batches_per_epoch();
  CHECK_THROWS_WITH(plain.set_encoder(std::make_shared<Pairs>()), Contains("encoded already"));
}

TEST_CASE("the config of data/Csv survives the way to a file, and its rules hold") {
  data::CsvConfig config;
  config.batch_size = 4;
  config.file = "a.csv";
  config.delimiter = "\t";
  config.missing = {"?"};
  config.part = data::CsvPart::eval;
  check_round_trip(config);
  for (const std::string& bad : {std::string(), std::string("ab"), std::string("\""),
                                 std::string("\n"), std::string("\0", 1), std::string("\xC3")}) {
    Diagnostics diagnostics;
    config.delimiter = bad;
    config.validate(diagnostics);
    REQUIRE(diagnostics.list().size() == 1);
    CHECK(diagnostics.list()[0].path == "delimiter");
  }
  config.delimiter = config.decimal_mark = ",";
  Diagnostics diagnostics;
  config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(diagnostics.list()[0].path == "decimal_mark");
}

}  // namespace data_csv_input_test
