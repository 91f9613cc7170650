// SPDX-License-Identifier: Apache-2.0
// trivet predict: the numbers of an evaluation, for rows of a table and files of images, and what
// it refuses.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/paths.h"
#include "support/plugin_folder.h"
#include "support/shell.h"

namespace predict_test {

namespace test = trivet::test;
using Catch::Contains;
using nlohmann::json;
using test::config, test::kSmallRun, test::quoted, test::records, test::run, test::ShellResult,
    test::TempDir;
namespace fs = std::filesystem;

namespace {

// size = 3 a - b in meters; kind is "big", "small" or "flat, wide".
std::string table(int first, int rows) {
  std::string text = "a,b,note,size,kind\n";
  for (int i = first; i < first + rows; ++i) {
    const int a = (i * 7) % 11, b = (i * 5) % 13, size = 3 * a - b;
    const char* kind = size > 12 ? "big" : size < 4 ? "small" : "\"flat, wide\"";
    text += std::to_string(a) + "," + std::to_string(b) + ",\"n\n" + std::to_string(i) + "\"," +
            std::to_string(size) + "," + kind + "\n";
  }
  return text;
}

fs::path config_with(const TempDir& temp, const std::string& task) {
  temp.write("train.csv", table(0, 200));
  temp.write("eval.csv", table(1000, 50));
  return temp.write("config.toml", "seed = 1\n[task]\n" + task +
                                       "model = 'tabular/Mlp'\n"
                                       "[task.train_input]\ntype = 'data/Csv'\nfile = '" +
                                       (temp / "train.csv").string() +
                                       "'\nbatch_size = 32\nshuffle = true\n"
                                       "[task.eval_input]\ntype = 'data/Csv'\nfile = '" +
                                       (temp / "eval.csv").string() +
                                       "'\nbatch_size = 16\n[runtime]\nthreads = 1\n"
                                       "[trainer]\ntrain_steps = 200\nlearning_rate = 0.01\n"
                                       "optimizer = 'optim/Adam'\n");
}

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

json evaluated(const fs::path& workdir) {
  return records(workdir, "eval").back().at("values");
}

ShellResult predict(const fs::path& run, const fs::path& input, const std::string& more = {}) {
  return test::trivet("predict " + quoted(run.string()) + " --input " + quoted(input.string()) +
                      " " + more);
}

}  // namespace

TEST_CASE("predictions of a table's rows are those of the evaluation, in the unit of the table") {
  const TempDir temp;
  const fs::path file =
      config_with(temp, "type = 'tabular/Regression'\nlabel = 'size'\nignore = ['note', 'kind']\n");
  REQUIRE(run(file, temp / "run").exit_code == 0);
  const auto result = predict(temp / "run", temp / "eval.csv");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const std::vector<json> lines = lines_of(result.output);
  REQUIRE(lines.size() == 50);
  double squares = 0, absolute = 0;
  for (int i = 0; i < 50; ++i) {
    const json& line = lines[static_cast<std::size_t>(i)];
    CHECK(line.at("example") == i);
    // Each row has two lines, and the header has one.
    CHECK(line.at("source") == (temp / "eval.csv").string() + ":" + std::to_string(2 + 2 * i));
    const int n = 1000 + i;
    const double error = line.at("prediction").get<double>() - (3 * (n * 7 % 11) - n * 5 % 13);
    squares += error * error;
    absolute += std::abs(error);
  }
  const json values = evaluated(temp / "run");
  CHECK(std::sqrt(squares / 50) == Approx(values.at("rmse").get<double>()).epsilon(1e-5));
  CHECK(absolute / 50 == Approx(values.at("mae").get<double>()).epsilon(1e-5));

  // The same from a pipe, in other batches, and without the columns that are not used.
  for (const char* more : {"--batch 1", "--batch 1000"}) {
    const auto other = lines_of(predict(temp / "run", temp / "eval.csv", more).output);
    REQUIRE(other.size() == 50);
    for (std::size_t i = 0; i < 50; ++i) {
      const double expected = lines[i].at("prediction");
      CHECK(other[i].at("prediction").get<double>() == Approx(expected).margin(1e-4));
    }
  }
  temp.write("short.csv", "b,a\n5,2\n\n7,3\n");
  const auto piped = test::trivet("predict " + quoted((temp / "run").string()) + " --input - < " +
                                  quoted((temp / "short.csv").string()));
  INFO(piped.output);
  REQUIRE(piped.exit_code == 0);
  const auto two = lines_of(piped.output);
  REQUIRE(two.size() == 2);
  CHECK(two[1].at("source") == "standard input:4");
}

TEST_CASE("predicted classes have the table's names and the softmax's probabilities") {
  const TempDir temp;
  const fs::path file = config_with(
      temp, "type = 'tabular/Classification'\nlabel = 'kind'\nignore = ['note', 'size']\n");
  REQUIRE(run(file, temp / "run").exit_code == 0);
  const auto result = predict(temp / "run", temp / "eval.csv");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  int right = 0;
  double loss = 0;
  const auto lines = lines_of(result.output);
  REQUIRE(lines.size() == 50);
  for (int i = 0; i < 50; ++i) {
    const json& line = lines[static_cast<std::size_t>(i)];
    const int n = 1000 + i, size = 3 * (n * 7 % 11) - n * 5 % 13;
    const std::string kind = size > 12 ? "big" : size < 4 ? "small" : "flat, wide";
    right += line.at("class") == kind ? 1 : 0;
    loss -= std::log(line.at("probabilities").at(kind).get<double>());
    CHECK(line.at("probability") ==
          line.at("probabilities").at(line.at("class").get<std::string>()));
  }
  const json values = evaluated(temp / "run");
  CHECK(right / 50.0 == Approx(values.at("accuracy").get<double>()));
  CHECK(loss / 50 == Approx(values.at("validation_loss").get<double>()).epsilon(1e-5));

  const auto csv = predict(temp / "run", temp / "eval.csv", "--csv");
  INFO(csv.output);
  CHECK_THAT(csv.output, Catch::StartsWith("example,source,class,probability,probabilities.big,"
                                           "\"probabilities.flat, wide\",probabilities.small\n0,"));
  CHECK_THAT(csv.output, Contains(",\"flat, wide\",0."));
}

TEST_CASE("predictions of images are those of the evaluation") {
  const TempDir temp;
  // 40 images of 2 x 2 bytes; the class is whether the first one is bright.
  std::string images("\0\0\x08\x03\0\0\0\x28\0\0\0\x02\0\0\0\x02", 16);
  std::string labels("\0\0\x08\x01\0\0\0\x28", 8);
  for (int i = 0; i < 40; ++i) {
    for (int pixel = 0; pixel < 4; ++pixel) {
      images += static_cast<char>((i * 37 + pixel * 91) % 256);
    }
    labels += static_cast<char>((i * 37) % 256 >= 128 ? 1 : 0);
  }
  const std::string data = "{ type = 'data/Idx', images = '" +
                           temp.write("images", images).string() + "', labels = '" +
                           temp.write("labels", labels).string() + "', batch_size = 16 }\n";
  const fs::path file = temp.write(
      "config.toml",
      "seed = 1\n[task]\ntype = 'vision/ImageClassification'\nnum_classes = 2\n"
      "class_names = ['dark', 'bright']\n"
      "model = { type = 'vision/Mlp', image_shape = [2, 2, 1], num_classes = 2, hidden_dims = [8] "
      "}\n"
      "train_input = " +
          data + "eval_input = " + data +
          "[trainer]\ntrain_steps = 100\nlearning_rate = 0.05\noptimizer = 'optim/Adam'\n");
  const auto trained = run(file, temp / "run");
  INFO(trained.output);
  REQUIRE(trained.exit_code == 0);
  const auto result = predict(temp / "run", temp / "images");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const auto lines = lines_of(result.output);
  REQUIRE(lines.size() == 40);
  double loss = 0;
  int right = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string name = (i * 37) % 256 >= 128 ? "bright" : "dark";
    const json& line = lines[static_cast<std::size_t>(i)];
    loss -= std::log(line.at("probabilities").at(name).get<double>());
    right += line.at("class") == name ? 1 : 0;
  }
  const json values = evaluated(temp / "run");
  CHECK(right / 40.0 == Approx(values.at("accuracy").get<double>()));
  CHECK(loss / 40 == Approx(values.at("validation_loss").get<double>()).epsilon(1e-5));
}

TEST_CASE("trivet predict says what is wrong with examples") {
  const TempDir temp;
  const fs::path file =
      config_with(temp, "type = 'tabular/Regression'\nlabel = 'size'\nignore = ['note', 'kind']\n");
  REQUIRE(run(file, temp / "run", "trainer.train_steps=1").exit_code == 0);
  const auto refused = [&](const std::string& name, const std::string& text) {
    const auto result = predict(temp / "run", temp.write(name, text));
    INFO(result.output);
    CHECK(result.exit_code == 2);
    return result.output;
  };
  CHECK_THAT(refused("letters.csv", "a,b\n1,2\nx,3\n"),
             Contains("letters.csv:3") && Contains("column 'a'") && Contains("'x'"));
  CHECK_THAT(refused("missing.csv", "a,c\n1,2\n"), Contains("no column 'b'"));
  CHECK_THAT(refused("cells.csv", "a,b\n1,2\n1,2,3\n"),
             Contains("row 2 has 3 cells") && Contains("cells.csv:3"));
  CHECK_THAT(refused("bytes.csv", "a,b\n1,\xff\n"), Contains("not UTF-8"));
  CHECK_THAT(refused("open.csv", "a,b\n\"1,2\n"), Contains("open.csv:2"));
  CHECK_THAT(refused("empty.csv", ""), Contains("there are no rows"));
  CHECK(predict(temp / "run", temp.write("header.csv", "a,b\n")).output.empty());
  const auto none = predict(temp / "run", temp / "none.csv");
  CHECK(none.exit_code == 2);
  CHECK_THAT(none.output, Contains("none.csv") && Contains("No such file"));

  const std::string runs = quoted((temp / "run").string());
  CHECK_THAT(test::trivet("predict " + runs).output, Contains("--input FILE"));
  CHECK(test::trivet("predict " + runs).exit_code == 2);
  const auto batch = predict(temp / "run", temp / "eval.csv", "--batch 0");
  CHECK(batch.exit_code == 2);
  CHECK_THAT(batch.output, Contains("--batch takes a number of at least 1"));
  const auto like = predict(temp / "run", temp / "eval.csv", "--like task.other_input");
  CHECK(like.exit_code == 2);
  CHECK_THAT(like.output, Contains("no input at this path"));
  CHECK(predict(temp / "nothing", temp / "eval.csv").exit_code == 2);
}

TEST_CASE("a task or an input that cannot predict is named") {
  const TempDir temp;
  test::PluginFolder plugins;
  plugins.copy("examples");
  const std::string folder = " --plugin-dir " + quoted(plugins.path().string());
  const auto trained =
      test::trivet("run " + quoted((test::source_root() / "sdk/examples/wave.toml").string()) +
                   " trainer.train_steps=1 trainer.checkpoint_interval=1 --workdir " +
                   quoted((temp / "wave").string()) + folder);
  INFO(trained.output);
  REQUIRE(trained.exit_code == 0);
  const auto task = predict(temp / "wave", temp.write("x.csv", "a\n1\n"), folder);
  INFO(task.output);
  CHECK(task.exit_code == 2);
  CHECK_THAT(task.output,
             Contains("examples/Regression") && Contains("no predictions of single examples"));
  REQUIRE(run(config("vision/local.toml"), temp / "run",
              std::string(kSmallRun) + "trainer.train_steps=1")
              .exit_code == 0);
  const auto input = predict(temp / "run", temp / "x.csv");
  INFO(input.output);
  CHECK(input.exit_code == 2);
  CHECK_THAT(input.output, Contains("data/Synthetic") && Contains("cannot read examples"));
}

}  // namespace predict_test
