// SPDX-License-Identifier: Apache-2.0
// Tables through the real program: trained, continued to the same bytes, evaluated with the
// vocabulary of the training, rejected if the rows have changed.
#include <filesystem>
#include <random>
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/paths.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// price = 3 rooms + 2 for each step in the order of the districts - age / 10, in a file with
// semicolons and decimal commas, gaps in the age, and an id.
std::string houses(int n) {
  const char* const kDistricts[] = {"North", "\"South; East\"", "West"};
  std::mt19937 bits(5);
  std::string text = "id;rooms;age;district;price;sold\r\n";
  for (int i = 0; i < n; ++i) {
    const int rooms = 1 + static_cast<int>(bits() % 6), age = static_cast<int>(bits() % 100);
    const auto district = static_cast<int>(bits() % 3);
    const bool gap = bits() % 10 == 0;
    const int tenths = 10 * (3 * rooms + 2 * district) - age;
    const int shown = tenths < 0 ? -tenths : tenths;
    text += "h" + std::to_string(i) + ";" + std::to_string(rooms) + ",0;" +
            (gap ? "?" : std::to_string(age)) + ";" + kDistricts[district] + ";" +
            (tenths < 0 ? "-" : "") + std::to_string(shown / 10) + "," +
            std::to_string(shown % 10) + ";" + (tenths > 130 ? "yes" : "no") + "\r\n";
  }
  return text;
}

// A typical user's config for that file.
std::string config_for(const fs::path& file, const std::string& task) {
  return "seed = 1\n"
         "[defaults.\"data/Csv\"]\n"
         "delimiter = \";\"\n"
         "decimal_mark = \",\"\n"
         "missing = [\"?\"]\n"
         "split_by = \"id\"\n" +
         task +
         "model = \"tabular/Mlp\"\n"
         "ignore = [\"id\"]\n"
         "[task.train_input]\n"
         "type = \"data/Csv\"\n"
         "file = \"" +
         file.string() +
         "\"\n"
         "part = \"train\"\n"
         "batch_size = 32\n"
         "shuffle = true\n"
         "[task.eval_input]\n"
         "type = \"data/Csv\"\n"
         "file = \"${task.train_input.file}\"\n"
         "part = \"eval\"\n"
         "batch_size = 64\n"
         "[trainer]\n"
         "train_steps = 400\n"
         "steps_per_loop = 100\n"
         "learning_rate = 0.01\n"
         "optimizer = \"optim/Adam\"\n";
}

const std::string kRegression =
    "[task]\ntype = \"tabular/Regression\"\nlabel = \"price\"\nfeatures = [\"rooms\", \"age\", "
    "\"district\"]\n";

std::string regression(const fs::path& file) {
  std::string text = config_for(file, kRegression);
  return text.erase(text.find("ignore = "), std::string("ignore = [\"id\"]\n").size());
}

double last(const fs::path& workdir, const char* name) {
  return records(workdir, "eval").back().at("values").at(name);
}

struct Houses {
  TempDir dir;
  fs::path file = dir.write("houses.csv", houses(600));
  fs::path config = dir.write("houses.toml", regression(file));
  fs::path workdir = dir / "run";

  void misspell_a_district() const {
    std::string text = read_file(file);
    text.replace(text.find("North"), 5, "Norht");
    dir.write("houses.csv", text);
  }
};

}  // namespace

TEST_CASE("a regression learns a table with gaps, quotes and decimal commas", "[slow]") {
  const Houses houses;
  const ShellResult result = run(houses.config, houses.workdir);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  // The standard deviation of prices is about 6; a missing age alone gives an error of up to 5.
  CHECK(last(houses.workdir, "r2") > 0.95);
  CHECK(last(houses.workdir, "rmse") < 1.5);
  CHECK(json_of(houses.workdir / "table.json").at("numbers").size() == 2);
}

TEST_CASE("a classification of two classes reports accuracy and auc", "[slow]") {
  const Houses houses;
  std::string text =
      config_for(houses.file, "[task]\ntype = \"tabular/Classification\"\nlabel = \"sold\"\n");
  text.replace(text.find("[\"id\"]\n["), 6, "[\"id\", \"price\"]");
  const ShellResult result = run(houses.dir.write("sold.toml", text), houses.workdir);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK(last(houses.workdir, "accuracy") > 0.9);
  CHECK(last(houses.workdir, "auc") > 0.97);
}

TEST_CASE("a stopped run on a table ends in the same bytes as an uninterrupted one", "[slow]") {
  const Houses houses;
  const fs::path other = houses.dir / "other";
  REQUIRE(run(houses.config, houses.workdir, "trainer.train_steps=150").exit_code == 0);
  REQUIRE(run(houses.config, other, "trainer.train_steps=70").exit_code == 0);
  REQUIRE(run(houses.config, other, "trainer.train_steps=150").exit_code == 0);
  const auto weights = [](const fs::path& workdir) {
    return read_file(workdir / "checkpoints" / "step_00000150" / "model.safetensors");
  };
  CHECK(weights(houses.workdir) == weights(other));
}

TEST_CASE("a run with a changed table does not continue and reports the difference", "[slow]") {
  const Houses houses;
  REQUIRE(run(houses.config, houses.workdir, "trainer.train_steps=20").exit_code == 0);
  houses.misspell_a_district();
  const ShellResult result = run(houses.config, houses.workdir);
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.output,
             Contains("the training rows differ from those that this run started with") &&
                 Contains("other values in 'district'"));
}

TEST_CASE("an evaluation uses the vocabulary of the training on another file", "[slow]") {
  const Houses houses;
  REQUIRE(run(houses.config, houses.workdir, "trainer.train_steps=300").exit_code == 0);
  fs::remove(houses.file);
  const fs::path more = houses.dir.write(
      "more.csv", "rooms;district;age;price;id\n2;West;10;9;a\n3;Mars;?;10;b\n1;North;50;-2;c\n");
  const ShellResult result =
      run(houses.config, houses.workdir,
          "--mode eval task.eval_input.part=all task.eval_input.file=" + quoted(more.string()));
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("examples=3 "));
}

TEST_CASE("a continuous evaluation uses the vocabulary of the run it follows", "[slow]") {
  const Houses houses;
  REQUIRE(run(houses.config, houses.workdir, "trainer.train_steps=20").exit_code == 0);
  houses.misspell_a_district();
  const ShellResult result =
      run(houses.config, houses.workdir, "--mode continuous_eval trainer.train_steps=20");
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK(records(houses.workdir / "continuous_eval", "eval").size() == 1);
  CHECK_FALSE(fs::exists(houses.workdir / "continuous_eval" / "table.json"));
}

TEST_CASE("errors in a table end a run with file, line, row and column", "[slow]") {
  const Houses houses;
  std::string text = read_file(houses.file);
  text.insert(text.find("\r\nh7;") + 5, "7;");
  houses.dir.write("houses.csv", text);
  ShellResult result = run(houses.config, houses.workdir);
  CHECK(result.exit_code == 2);
  CHECK_FALSE(fs::exists(houses.workdir));
  CHECK_THAT(result.output, Contains("houses.csv:9: ") && Contains("row 8 has 7 cells") &&
                                Contains("task.train_input"));
  const Houses others;
  result = run(others.config, others.workdir, "task.label=prize");
  CHECK(result.exit_code == 2);
  CHECK_FALSE(fs::exists(others.workdir));
  CHECK_THAT(result.output, Contains("command line:1:12: task.label: ") &&
                                Contains("there is no column 'prize'") &&
                                Contains("did you mean 'price'?"));
}

TEST_CASE("a missing table is a config error at the field that names it", "[slow]") {
  const Houses houses;
  const std::string gone = quoted((houses.dir / "gone.csv").string());
  for (const char* input : {"task.train_input", "task.eval_input"}) {
    const std::string word = std::string(input) + ".file=";
    const ShellResult result = run(houses.config, houses.workdir, word + gone);
    INFO(result.output);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains("command line:1:" + std::to_string(word.size() + 1) + ": " +
                                       input + ".file: ") &&
                                  Contains("cannot open"));
    CHECK_FALSE(fs::exists(houses.workdir));
  }
}

TEST_CASE("check reads a table and writes nothing", "[slow]") {
  const Houses houses;
  const ShellResult result = trivet::test::trivet("check " + quoted(houses.config.string()));
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("reach 7 of 7 trainable tensors"));
  CHECK_FALSE(fs::exists(houses.workdir));
  CHECK(std::distance(fs::directory_iterator(houses.dir.path()), {}) == 2);
}
