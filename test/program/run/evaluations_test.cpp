// SPDX-License-Identifier: Apache-2.0
// Evaluations of a trained run: they have their own records and do not change those of the run.
#include <filesystem>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "run_fixture.h"
#include "support/shell.h"

namespace evaluations_test {

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

const std::string kLocal = std::string(kSmallRun) + "trainer.train_steps=40 ";

// The files in the directory, checkpoints/ and best/, without the lock.
std::map<std::string, std::string> files_of(const fs::path& workdir) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(workdir)) {
    const std::string name = entry.path().lexically_relative(workdir).string();
    if (!entry.is_regular_file() || name == ".lock" || name.starts_with("evals/")) continue;
    files[name] = read_file(entry.path());
  }
  return files;
}

ShellResult evaluate(const fs::path& workdir, const std::string& more) {
  return run(config("vision/local.toml"), workdir, kLocal + "--mode eval " + more);
}

}  // namespace

TEST_CASE("an evaluation in the directory of a run has its own records") {
  const TempDir temp;
  const fs::path workdir = temp / "run";
  REQUIRE(
      run(config("vision/local.toml"), workdir, kLocal + "trainer.best_checkpoint.metric=accuracy")
          .exit_code == 0);
  const auto trained = files_of(workdir);
  REQUIRE(trained.contains("summary.json"));
  REQUIRE(trained.contains("confusion_matrix.csv"));

  const auto result = evaluate(workdir, "task.eval_input.split=test");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK(files_of(workdir) == trained);
  const fs::path first = workdir / "evals/1";
  const auto record = records(first, "eval").at(0);
  CHECK(record.at("step") == 40);
  CHECK(record.at("values") != records(workdir, "eval").back().at("values"));
  CHECK_THAT(read_file(first / "config.toml"), Contains("split = \"test\""));
  CHECK(fs::exists(first / "confusion_matrix.csv"));
  CHECK(json_of(first / "summary.json").at("eval_step") == 40);
  CHECK(json_of(first / "status.json").at("state") == "done");

  REQUIRE(evaluate(workdir, "").exit_code == 0);
  CHECK(records(workdir / "evals/2", "eval").at(0).at("values") ==
        records(workdir, "eval").back().at("values"));
  CHECK(files_of(workdir) == trained);

  CHECK_THAT(::trivet::test::trivet("ls " + quoted(temp.path().string())).output,
             Contains("run/evals/1") && Contains("run/evals/2"));
  const auto points = nlohmann::json::parse(
      ::trivet::test::trivet("plot " + quoted(workdir.string()) + " validation_loss --json")
          .output);
  REQUIRE(points.size() == 3);
  CHECK(points.at(1).at("run") == first.string());
  CHECK(points.at(1).at("points").at(0).at(0) == 40);
}

TEST_CASE("a rejected evaluation leaves nothing in the directory of the run") {
  const TempDir temp;
  const fs::path workdir = temp / "run";
  REQUIRE(run(config("vision/local.toml"), workdir, kLocal).exit_code == 0);
  const auto trained = files_of(workdir);
  const auto refused = evaluate(workdir, "task.model.hidden_dims=[8]");
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output, Contains("task.model.hidden_dims: [16] -> [8]") &&
                                 Contains("hidden_0/w f32 [256, 16] in the file"));
  CHECK(files_of(workdir) == trained);
  CHECK_FALSE(fs::exists(workdir / "evals/1"));
  // A change that fits is not blamed.
  const std::string both = evaluate(workdir, "task.top_k=3 task.model.hidden_dims=[8]").output;
  const std::string error = both.substr(both.find("error: "));
  INFO(both);
  CHECK_THAT(error.substr(0, error.find('\n')), Contains("task.model.hidden_dims: "));
}

TEST_CASE("fields without effect on weights may change in an evaluation and when a run continues") {
  const TempDir temp;
  const fs::path workdir = temp / "run";
  REQUIRE(run(config("vision/local.toml"), workdir, kLocal).exit_code == 0);
  const auto result =
      evaluate(workdir, "task.top_k=3 task.label_smoothing=0.1 task.confusion_matrix=false");
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("task.top_k: 5 -> 3"));
  CHECK(records(workdir / "evals/1", "eval").at(0).at("values").contains("top_3_accuracy"));
  CHECK_FALSE(fs::exists(workdir / "evals/1/confusion_matrix.csv"));
  const auto longer = run(config("vision/local.toml"), workdir,
                          kLocal +
                              "trainer.train_steps=50 trainer.steps_per_loop=50 task.top_k=3 "
                              "task.confusion_matrix=false");
  INFO(longer.output);
  CHECK(longer.exit_code == 0);
  CHECK(records(workdir, "train").back().at("values").contains("top_3_accuracy"));
  // The error for weights that do not fit names the config's fields and the variables.
  const std::string before = read_file(workdir / "config.toml");
  const auto other = run(config("vision/local.toml"), workdir,
                         kLocal + "task.num_classes=4 task.model.num_classes=4 task.top_k=3");
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.output, Contains("task.model.num_classes"));
  CHECK(read_file(workdir / "config.toml") == before);
}

TEST_CASE("a run continues with other values of adjustable fields, but not with another model") {
  const TempDir temp;
  const fs::path workdir = temp / "run";
  const std::string sgd = kLocal + "trainer.optimizer=optim/Sgd ";
  const auto go_on = [&](const std::string& more) {
    return run(config("vision/local.toml"), workdir, sgd + more);
  };
  REQUIRE(go_on("trainer.optimizer.momentum=0.9").exit_code == 0);
  const auto other = go_on(
      "trainer.train_steps=60 trainer.optimizer.momentum=0.8 trainer.optimizer.weight_decay=1e-4 "
      "trainer.learning_rate=0.01 task.model.dropout=0.2");
  INFO(other.output);
  CHECK(other.exit_code == 0);
  CHECK_THAT(other.output, Contains("task.model.dropout: 0.0 -> 0.2") &&
                               Contains("trainer.optimizer.momentum: 0.9 -> 0.8") &&
                               Contains("continue step=40"));
  const std::string kept = read_file(workdir / "config.toml");
  CHECK_THAT(kept, Contains("dropout = 0.2"));
  const auto refused = [&](const std::string& more, const std::string& why) {
    const auto result = go_on("trainer.train_steps=80 " + more);
    INFO(result.output);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains("checkpoints of another task or model") && Contains(why));
    CHECK(read_file(workdir / "config.toml") == kept);
  };
  const std::string same = "trainer.optimizer.momentum=0.8 task.model.dropout=0.2 ";
  refused(same + "task.model.hidden_dims=[8]", "task.model.hidden_dims: [16] -> [8]");
  refused(same + "task.model.activation=nn/Tanh", "task.model.activation.type: \"nn/Relu\"");
  refused(same + "trainer.optimizer.learning_rate_in_momentum=true",
          "trainer.optimizer.learning_rate_in_momentum: false -> true");
  // A missing slot is found by restoring.
  refused("task.model.dropout=0.2 trainer.optimizer.momentum=0", "/momentum f32");
}

TEST_CASE("a config that gives no result does not replace the run's") {
  const TempDir temp;
  const fs::path file = config("vision/local.toml"), workdir = temp / "run";
  REQUIRE(run(file, workdir, kLocal).exit_code == 0);
  const std::string kept = read_file(workdir / "config.toml");
  // The model has ten logits, which only the first step finds.
  const auto failed =
      run(workdir / "config.toml", workdir, "task.num_classes=11 trainer.train_steps=60");
  INFO(failed.output);
  CHECK(failed.exit_code != 0);
  CHECK(read_file(workdir / "config.toml") == kept);
  const auto longer = run(workdir / "config.toml", workdir, "trainer.train_steps=60");
  INFO(longer.output);
  CHECK(longer.exit_code == 0);
  CHECK_THAT(read_file(workdir / "config.toml"), Contains("train_steps = 60"));
}

TEST_CASE("an evaluation of a step without a checkpoint is refused and leaves no trace") {
  const TempDir temp;
  const fs::path file = config("vision/local.toml"), workdir = temp / "run";
  REQUIRE(run(file, workdir, kLocal).exit_code == 0);
  const auto missing = run(file, workdir, "--mode eval --step 7");
  INFO(missing.output);
  CHECK(missing.exit_code == 2);
  CHECK_THAT(missing.output, Contains("has no checkpoint for step 7"));
  CHECK_FALSE(fs::exists(workdir / "evals/1"));
}

TEST_CASE("an evaluation from a checkpoint is recorded at the checkpoint's step") {
  const TempDir temp;
  REQUIRE(run(config("vision/local.toml"), temp / "run", kLocal + "--mode train").exit_code == 0);
  const auto result =
      evaluate(temp / "alone", "task.init_checkpoint=" + quoted((temp / "run").string()));
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK(records(temp / "alone", "eval").at(0).at("step") == 40);
  // Again, with other data: the directory of an evaluation describes the last one.
  REQUIRE(evaluate(temp / "alone", "task.eval_input.split=test task.init_checkpoint=" +
                                       quoted((temp / "run").string()))
              .exit_code == 0);
  CHECK(records(temp / "alone", "eval").size() == 1);
  CHECK_THAT(read_file(temp / "alone/config.toml"), Contains("split = \"test\""));
}

}  // namespace evaluations_test
