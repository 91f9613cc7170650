// SPDX-License-Identifier: Apache-2.0
// The confusion matrix: means counted by hand, and its file.
#include "vision/confusion_matrix.h"

#include <filesystem>

#include <catch2/catch.hpp>

#include "batch.h"
#include "support/shell.h"
#include "trivet/error.h"

namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using trivet::Predictions;
using trivet::test::labels;
using trivet::test::logits;
using trivet::test::number;
using trivet::test::read_file;
using trivet::test::TempDir;
using trivet::vision::ConfusionMatrix;

// Adds one example with its label and prediction.
void add(ConfusionMatrix& matrix, std::int32_t label, std::size_t predicted, float weight = 1,
         std::size_t classes = 4) {
  std::vector<float> row(classes);
  row[predicted] = 1;
  matrix.add(
      Predictions(labels({label}, {weight}), logits(row, static_cast<std::int64_t>(classes))));
}

// Rows are labels:   2 1 0 0
//                    1 3 0 0
//                    0 2 0 0     class 2 is never predicted
//                    0 0 0 0     class 3 never occurs, and is never predicted
ConfusionMatrix sample() {
  ConfusionMatrix matrix(4);
  add(matrix, 0, 0, 2);
  add(matrix, 0, 1);
  add(matrix, 1, 0);
  for (int i = 0; i < 3; ++i) add(matrix, 1, 1);
  add(matrix, 2, 1, 2);
  return matrix;
}

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("macro precision and recall are means over the classes that occur") {
  const auto summary = sample().summary();
  // Precision 2/3, 3/6 and, never predicted, 0; recall 2/3, 3/4 and 0.
  CHECK(number(summary, "macro_precision") == Approx((2.0 / 3 + 3.0 / 6) / 3));
  CHECK(number(summary, "macro_recall") == Approx((2.0 / 3 + 3.0 / 4) / 3));
}

TEST_CASE("a matrix without examples has means of 0") {
  const auto summary = ConfusionMatrix(3).summary();
  CHECK(number(summary, "macro_precision") == 0);
  CHECK(number(summary, "macro_recall") == 0);
}

TEST_CASE("examples of weight 0 and invalid labels are ignored") {
  ConfusionMatrix matrix(2);
  add(matrix, 0, 1, 0, 2);
  add(matrix, -1, 1, 1, 2);
  add(matrix, 2, 1, 1, 2);
  add(matrix, 1, 1, 1, 2);
  const TempDir folder;
  matrix.write_csv(folder / "c.csv");
  CHECK(read_file(folder / "c.csv") == "label,predicted_0,predicted_1\n0,0,0\n1,0,1\n");
}

TEST_CASE("a matrix has a limit, and accepts predictions of its number of classes") {
  ConfusionMatrix largest(2048);
  CHECK_THROWS_WITH(ConfusionMatrix(2049),
                    Contains("2049 classes is too large") && Contains("2048"));
  ConfusionMatrix matrix(3);
  CHECK_THROWS_WITH(add(matrix, 0, 3, 1, 4), Contains("of 3 classes") && Contains("of 4"));
  CHECK_THROWS_WITH(add(matrix, 0, 0, 1, 2), Contains("of 3 classes") && Contains("of 2"));
}

TEST_CASE("the csv has labels in rows and predictions in columns") {
  const TempDir folder;
  sample().write_csv(folder / "confusion_matrix.csv");
  CHECK(read_file(folder / "confusion_matrix.csv") ==
        "label,predicted_0,predicted_1,predicted_2,predicted_3\n"
        "0,2,1,0,0\n"
        "1,1,3,0,0\n"
        "2,0,2,0,0\n"
        "3,0,0,0,0\n");
  CHECK(entries(folder.path()) == 1);
}

TEST_CASE("large counts and fractions keep all their digits in the csv") {
  ConfusionMatrix matrix(2);
  add(matrix, 0, 0, 1000000, 2);
  add(matrix, 0, 1, 1234567, 2);
  add(matrix, 1, 0, 0.25F, 2);
  const TempDir folder;
  matrix.write_csv(folder / "c.csv");
  CHECK_THAT(read_file(folder / "c.csv"), Contains("0,1000000,1234567\n1,0.25,0\n"));
}

TEST_CASE("a csv that cannot be written is an error and leaves no half file") {
  const TempDir folder;
  CHECK_THROWS_AS(sample().write_csv(folder / "missing" / "c.csv"), trivet::RunError);
  CHECK_THROWS_WITH(sample().write_csv(folder / "missing" / "c.csv"),
                    Contains("cannot write") && Contains("missing/c.csv"));
  CHECK(entries(folder.path()) == 0);

  folder.write("c.csv/inside", "a folder has the name of the file");
  CHECK_THROWS_AS(sample().write_csv(folder / "c.csv"), trivet::RunError);
  CHECK(entries(folder.path()) == 1);
  CHECK(entries(folder / "c.csv") == 1);
}

TEST_CASE("a full device leaves the previous csv unchanged") {
  if (!fs::exists("/dev/full")) return;
  const TempDir folder;
  sample().write_csv(folder / "c.csv");
  const std::string before = read_file(folder / "c.csv");
  fs::create_symlink("/dev/full", folder / "c.csv.tmp");
  CHECK_THROWS_WITH(ConfusionMatrix(2).write_csv(folder / "c.csv"), Contains("No space left"));
  CHECK(read_file(folder / "c.csv") == before);
  CHECK(entries(folder.path()) == 1);
}
