// SPDX-License-Identifier: Apache-2.0
// Data of training and evaluations is opened before training: errors in it are config errors at the
// location of the field, and a run that cannot start leaves nothing behind.
#include <filesystem>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"

namespace opened_data_test {

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// A valid table, and its invalid replacements.
struct Tables {
  TempDir dir;
  fs::path good = dir.write("good.csv", "x,y\n1,2\n2,4\n3,6\n4,8\n");
  fs::path other = dir.write("other.csv", "x,z\n1,2\n2,4\n3,6\n4,8\n");
  fs::path binary = dir.write("binary.csv", std::string("\x1F\x8B\x00\x01\x02\xFF\xFE\x00", 8));
  fs::path missing = dir / "missing.csv";
  fs::path workdir = dir / "made/for/run";
  fs::path config = dir.write("c.toml", R"(
[task]
type = "tabular/Regression"
label = "y"
model = "tabular/Mlp"
train_input = { type = "data/Csv", file = ")" +
                                            good.string() + R"(", batch_size = 2 }
eval_input = { type = "data/Csv", file = ")" +
                                            good.string() + R"(", batch_size = 2 }
[trainer]
train_steps = 4
steps_per_loop = 2
checkpoint_interval = 2
learning_rate = 0.01
optimizer = "optim/Sgd"
[runtime]
threads = 1
)");
};

std::string word_of(const std::string& field, const fs::path& file) {
  return field + "=" + quoted(file.string()) + " ";
}

// In any position of the output.
void check_refused(const ShellResult& result, const std::string& field) {
  INFO(result.output);
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.output, Contains("command line:1:") && Contains(field + ": "));
}

}  // namespace

TEST_CASE("unreadable data is rejected before training, in every mode") {
  const Tables tables;
  for (const std::string mode : {"train_and_eval", "train_and_post_eval", "eval"}) {
    for (const fs::path& file : {tables.missing, tables.other, tables.binary}) {
      const std::string field = "task.eval_input.file";
      INFO(mode + " " + file.string());
      check_refused(run(tables.config, tables.workdir, word_of(field, file) + "--mode " + mode),
                    field);
      CHECK_FALSE(fs::exists(tables.dir / "made"));
    }
  }
  for (const fs::path& file : {tables.missing, tables.binary}) {
    const std::string field = "task.train_input.file";
    INFO(file.string());
    check_refused(run(tables.config, tables.workdir, word_of(field, file)), field);
    CHECK_FALSE(fs::exists(tables.dir / "made"));
  }
  // The task reports the missing column at the field that names it.
  const ShellResult result =
      run(tables.config, tables.workdir, word_of("task.train_input.file", tables.other));
  INFO(result.output);
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.output,
             Contains("c.toml:4:9: task.label: ") && Contains("other.csv: there is no column 'y'"));
  CHECK_FALSE(fs::exists(tables.dir / "made"));
}

TEST_CASE("an empty text is rejected before training, in every input") {
  const TempDir dir;
  const fs::path binary = dir.write("binary.txt", std::string("ELF\x7F\0\0\x01", 7));
  const std::string small =
      "task.model.num_layers=1 task.model.model_dims=16 task.model.num_heads=2 "
      "task.model.hidden_dims=16 trainer.train_steps=4 ";
  for (const auto& [name, field] :
       {std::pair{"lm/licenses.toml", "files"}, std::pair{"lm/masked.toml", "source.files"}}) {
    for (const std::string input : {"task.train_input", "task.eval_input"}) {
      for (const char* prefetch : {"0", "2"}) {
        const std::string path = input + "." + field;
        INFO(path << ", prefetch " << prefetch);
        check_refused(run(config(name), dir / "made",
                          quoted(path + "=['" + binary.string() + "']") + " " + small +
                              "task.*_input.prefetch=" + prefetch),
                      path);
        CHECK_FALSE(fs::exists(dir / "made"));
      }
    }
  }
}

TEST_CASE("check finds unreadable data like run") {
  const Tables tables;
  for (const std::string field : {"task.train_input.file", "task.eval_input.file"}) {
    for (const fs::path& file : {tables.missing, tables.binary}) {
      check_refused(trivet::test::trivet("check " + quoted(tables.config.string()) + " " +
                                         word_of(field, file)),
                    field);
    }
  }
}

TEST_CASE("a rejected run without --workdir leaves no folder of runs") {
  const Tables tables;
  const fs::path location = tables.dir / "location";
  fs::create_directory(location);
  const ShellResult result =
      trivet::test::trivet("run " + quoted(tables.config.string()) + " " +
                               word_of("task.eval_input.file", tables.missing),
                           "env -C " + quoted(location.string()) + " ");
  check_refused(result, "task.eval_input.file");
  CHECK(fs::is_empty(location));
}

TEST_CASE("a run that cannot continue because of its data keeps its files unchanged") {
  const Tables tables;
  REQUIRE(run(tables.config, tables.workdir).exit_code == 0);
  const std::string metrics = read_file(tables.workdir / "metrics.jsonl");
  const std::string config = read_file(tables.workdir / "config.toml");
  check_refused(run(tables.config, tables.workdir,
                    word_of("task.eval_input.file", tables.missing) + "trainer.train_steps=8"),
                "task.eval_input.file");
  CHECK(read_file(tables.workdir / "metrics.jsonl") == metrics);
  CHECK(read_file(tables.workdir / "config.toml") == config);
  CHECK(run(tables.config, tables.workdir, "trainer.train_steps=8").exit_code == 0);
}

TEST_CASE("continuous evaluation opens its data before a checkpoint exists") {
  const Tables tables;
  check_refused(run(tables.config, tables.workdir,
                    word_of("task.eval_input.file", tables.missing) +
                        "--mode continuous_eval trainer.continuous_eval_timeout=100"),
                "task.eval_input.file");
  CHECK_FALSE(fs::exists(tables.dir / "made"));
}

}  // namespace opened_data_test
