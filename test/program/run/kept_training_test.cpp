// SPDX-License-Identifier: Apache-2.0
// Trained steps are not lost because of later failures: default saves, failing evaluations, and
// metrics that no evaluation gives.
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "run_fixture.h"
#include "support/shell.h"

namespace kept_training_test {

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

const std::string kLocal = std::string(kSmallRun) + "trainer.train_steps=40 ";

// Whether the checkpoint of a step was saved.
bool is_saved(const fs::path& workdir, int step) {
  return fs::exists(workdir / "checkpoints" / ("step_000000" + std::to_string(step)));
}

// The config without its line on checkpoints.
fs::path by_default(const TempDir& temp) {
  std::string text = read_file(config("vision/local.toml"));
  const std::size_t line = text.find("checkpoint_interval");
  text.erase(line, text.find('\n', line) + 1 - line);
  return temp.write("default.toml", text);
}

}  // namespace

TEST_CASE("by default a run saves every ten minutes and before each evaluation") {
  const TempDir temp;
  const fs::path file = by_default(temp);
  CHECK_THAT(::trivet::test::trivet("config show " + quoted(file.string())).output,
             Contains("checkpoint_interval = \"10m\""));
  const auto result = run(file, temp / "run",
                          kLocal + "trainer.validation_interval=20 trainer.checkpoint_async=false");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK(is_saved(temp / "run", 20));
  const std::string& text = result.output;
  CHECK(text.find("checkpoint step=20") < text.find("eval step=20"));
}

TEST_CASE("a failed evaluation loses no training") {
  const TempDir temp;
  for (const char* interval : {"0", "30", "10m"}) {
    const fs::path workdir = temp / interval;
    temp.write(std::string(interval) + "/export", "no directory");
    const auto result =
        run(config("vision/local.toml"), workdir,
            kLocal + "trainer.validation_interval=20 trainer.checkpoint_interval=" + interval +
                " 'trainer.eval_actions=[\"trivet/Export\"]'");
    INFO(result.output);
    CHECK(result.exit_code == 1);
    CHECK_THAT(result.output, Contains("cannot export"));
    CHECK(is_saved(workdir, 20));
    fs::remove(workdir / "export");
    const auto again =
        run(config("vision/local.toml"), workdir, kLocal + "trainer.validation_interval=20");
    CHECK(again.exit_code == 0);
    CHECK_THAT(again.output, Contains("continue step=20"));
  }
}

TEST_CASE("a metric that no evaluation gives is found by check and before a run starts") {
  const TempDir temp;
  const std::string words =
      quoted(config("vision/local.toml").string()) + " " + kLocal +
      "trainer.best_checkpoint.metric=acuracy "
      "'trainer.eval_actions=[{type=\"trivet/When\",metric=\"validation_los\",above=1,"
      "actions=[{type=\"trivet/NewBest\",metric=\"top_5\",actions=[\"trivet/Export\"]}]}]' "
      "'trainer.train_actions=[{type=\"trivet/When\",metric=\"trainig_loss\",above=1,"
      "actions=[\"trivet/Export\"]}]' ";
  for (const std::string& command :
       {"check " + words, "run " + words + "--workdir " + quoted((temp / "run").string())}) {
    const auto result = ::trivet::test::trivet(command);
    INFO(result.output);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains("the evaluation has no metric 'acuracy'") &&
                                  Contains("did you mean 'accuracy'?") &&
                                  Contains("command line:"));
    CHECK_THAT(result.output, Contains("'validation_los'") && Contains("'top_5'") &&
                                  Contains("training has no metric 'trainig_loss'"));
    CHECK_THAT(result.output, Contains("trainer.eval_actions[0].actions[0].metric"));
  }
  CHECK_FALSE(fs::exists(temp / "run"));
}

TEST_CASE("check finds a search objective that no run of the config gives", "[slow]") {
  const TempDir temp;
  const auto check = [&](const std::string& objective, const std::string& more = {}) {
    const fs::path file = temp.write(
        "search.toml", "base = ['" + config("vision/local.toml").string() + "']\n[xp]\n" + more +
                           "[xp.orchestrator]\ntype = 'search/Orchestrator'\nobjective = '" +
                           objective +
                           "'\ngoal = 'max'\ntrials = 2\n"
                           "space.'trainer.learning_rate' = { choice = [0.1, 0.2] }\n");
    return ::trivet::test::trivet("check " + quoted(file.string()) + " " + kLocal);
  };
  for (const char* known :
       {"accuracy", "eval/validation_loss", "train/training_loss", "mean(eval/*accuracy)",
        "train/steps_per_second", "eval/steps_per_second", "num_params"}) {
    const auto result = check(known);
    INFO(result.output);
    CHECK(result.exit_code == 0);
  }
  const auto misspelt = check("eval/acuracy");
  INFO(misspelt.output);
  CHECK(misspelt.exit_code == 2);
  CHECK_THAT(misspelt.output, Contains("search.toml:5:13: xp.orchestrator.objective: the "
                                       "evaluation has no metric 'acuracy'") &&
                                  Contains("did you mean 'accuracy'?"));
  const auto no_match = check("max(train/*/loss)");
  CHECK(no_match.exit_code == 2);
  CHECK_THAT(no_match.output, Contains("training has no metric '*/loss'"));
  CHECK(check("eval/mfu").exit_code == 2);
  const auto other_half = check("train/validation_loss");
  CHECK(other_half.exit_code == 2);
  CHECK_THAT(other_half.output, Contains("training has no metric 'validation_loss'"));
  CHECK(check("acuracy", "jobs_provider = 'trivet/ConfigJobs'\n").exit_code == 2);
  // The metrics of another program are unknown.
  CHECK(check("score", "target = '/bin/true'\n").exit_code == 0);
  CHECK(check("score", "[xp.jobs.train]\ntarget = '/bin/true'\n").exit_code == 0);
  CHECK(check("score", "[xp.jobs.train]\nretries = 1\n").exit_code == 2);
}

TEST_CASE("check finds an objective of a half that the config's mode skips") {
  const TempDir temp;
  const fs::path file = temp.write(
      "search.toml", "mode = 'train'\nbase = ['" + config("vision/local.toml").string() +
                         "']\n[xp]\njobs_provider = 'trivet/ConfigJobs'\n[xp.orchestrator]\n"
                         "type = 'search/Orchestrator'\nobjective = 'accuracy'\ngoal = 'max'\n"
                         "trials = 2\nspace.'trainer.learning_rate' = { choice = [0.1, 0.2] }\n");
  const auto result = ::trivet::test::trivet("check " + quoted(file.string()) + " " + kLocal);
  INFO(result.output);
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.output,
             Contains("'accuracy' is a metric of the evaluation, which the config's mode skips"));
}

TEST_CASE("the metrics of several tasks are known before a run starts") {
  const std::string check = "check " + quoted(config("vision/multitask.toml").string()) +
                            " trainer.best_checkpoint.metric=";
  const auto wrong = ::trivet::test::trivet(check + "secnd/accuracy");
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.output, Contains("did you mean 'second/accuracy'"));
  // A metric that an evaluation of one batch does not give.
  const auto result = ::trivet::test::trivet(check + "second/validation_loss");
  INFO(result.output);
  CHECK(result.exit_code == 0);
}

}  // namespace kept_training_test
