// SPDX-License-Identifier: Apache-2.0
// Moving averages: evaluated weights are the weights that are used later.
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "run_fixture.h"
#include "support/shell.h"

namespace averages_test {

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

const std::string kLocal = std::string(kSmallRun) + "trainer.train_steps=40 ";

// A run of 40 steps whose best checkpoint was chosen by its averages.
class Averaged {
 public:
  Averaged() {
    const auto result = run(config("vision/local.toml"), workdir(),
                            kLocal +
                                "trainer.validation_interval=10 trainer.ema.decay=0.99 "
                                "trainer.best_checkpoint.metric=validation_loss "
                                "trainer.best_checkpoint.goal=min");
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
    best_ = json_of(workdir() / "best/best.json").at("checkpoints").at(0);
  }

  fs::path workdir() const { return temp_ / "run"; }
  double best_value() const { return best_.at("value"); }
  std::int64_t best_step() const { return best_.at("step"); }

  // An evaluation in a new directory that starts from `checkpoint`.
  ShellResult evaluate(const fs::path& checkpoint, const std::string& more = {}) {
    fs::remove_all(evaluation());
    return run(
        config("vision/local.toml"), evaluation(),
        kLocal + "--mode eval task.init_checkpoint=" + quoted(checkpoint.string()) + " " + more);
  }
  fs::path evaluation() const { return temp_ / "evaluation"; }

 private:
  TempDir temp_;
  nlohmann::json best_;
};

}  // namespace

TEST_CASE("an evaluation of a best checkpoint gives its recorded value") {
  Averaged averaged;
  const auto result = averaged.evaluate(averaged.workdir() / "best");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("4 of 4 variables from") && Contains("4 as moving averages"));
  const auto record = records(averaged.evaluation(), "eval").at(0);
  CHECK(record.at("values").at("validation_loss") == averaged.best_value());
  CHECK(record.at("step") == averaged.best_step());

  const auto raw = averaged.evaluate(averaged.workdir() / "best", "task.init_load.averages=false");
  REQUIRE(raw.exit_code == 0);
  CHECK_THAT(raw.output, !Contains("moving averages"));
  CHECK(records(averaged.evaluation(), "eval").at(0).at("values").at("validation_loss") !=
        averaged.best_value());
}

TEST_CASE("an evaluation of a run uses its averages even if trainer.ema is no longer set") {
  const Averaged averaged;
  const double recorded =
      records(averaged.workdir(), "eval").back().at("values").at("validation_loss");
  const auto result = run(config("vision/local.toml"), averaged.workdir(), kLocal + "--mode eval");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("evaluating the moving averages of the weights"));
  const auto record = records(averaged.workdir() / "evals/1", "eval").at(0);
  CHECK(record.at("values").at("validation_loss") == recorded);
}

TEST_CASE("requested but missing averages are an error") {
  const TempDir temp;
  REQUIRE(run(config("vision/local.toml"), temp / "run", kLocal + "--mode train").exit_code == 0);
  const auto result =
      run(config("vision/local.toml"), temp / "evaluation",
          kLocal + "--mode eval task.init_load.averages=true task.init_checkpoint=" +
              quoted((temp / "run").string()));
  CHECK(result.exit_code != 0);
  CHECK_THAT(result.output,
             Contains("task.init_load.averages") && Contains("has no moving averages"));
}

}  // namespace averages_test
