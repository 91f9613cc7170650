// SPDX-License-Identifier: Apache-2.0
// Further evaluations of a run, which are jobs of its work unit, from end to end.
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "launched_experiments.h"
#include "program/run/run_fixture.h"
#include "support/paths.h"

namespace launch_evals_test {

using namespace trivet::test;
using Catch::Contains;
using nlohmann::json;

TEST_CASE("evaluations with other data follow the same run, each with its own records", "[slow]") {
  const Experiments at("type = 'local/Orchestrator'\n",
                       "TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string()) + " ");
  const ShellResult launched = at.trivet(
      "launch " + quoted(config("vision/local.toml").string()) +
      " --xp.root_dir=" + quoted(at.root.string()) + " " + kSmallRun +
      "trainer.train_steps=60 trainer.checkpoint_interval=20"
      " --xp.orchestrator.type=local/Orchestrator --xp.orchestrator.cores=3 "
      "--xp.jobs_provider.evals=" +
      quoted("{long = {\"task.eval_input.examples\" = 256}, tiny = "
             "{\"task.eval_input.examples\" = 32, \"task.eval_input.batch_size\" = 32}}"));
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return at.count("completed") == 1; }));
  for (const char* job : {"train", "long", "tiny"}) CHECK(at.state(1, job) == "completed");
  const auto unit = at.unit_file(1, "");
  for (const char* name : {"continuous_eval-long", "continuous_eval-tiny"}) {
    const std::vector<json> evaluated = records(unit / name, "eval");
    REQUIRE_FALSE(evaluated.empty());
    CHECK(evaluated.back().at("step") == 60);
    CHECK(evaluated.back().at("values").contains("accuracy"));
  }
  CHECK_FALSE(std::filesystem::exists(unit / "continuous_eval"));
  // The evaluation within the training used 64 examples.
  CHECK(records(unit, "eval").back().at("step") == 60);
  CHECK_THAT(at.trivet("ls " + quoted((unit / "continuous_eval-long").string())).output,
             Contains("60"));
}

TEST_CASE("a job evaluates a group of sets", "[slow]") {
  const Experiments at("type = 'local/Orchestrator'\n",
                       "TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string()) + " ");
  const ShellResult launched = at.trivet(
      "launch " + quoted(config("vision/local.toml").string()) +
      " --xp.root_dir=" + quoted(at.root.string()) + " " + kSmallRun +
      "trainer.train_steps=40 trainer.checkpoint_interval=20"
      " --xp.orchestrator.type=local/Orchestrator --xp.orchestrator.cores=2 "
      "--xp.jobs_provider.evals=" +
      quoted("{group = {\"task.eval_inputs\" = [{name = 'one', steps = 1, "
             "input = '${task.eval_input}'}, {name = 'two', input = '${task.eval_input}'}]}}"));
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return at.count("completed") == 1; }));
  const auto unit = at.unit_file(1, "");
  const json values = records(unit / "continuous_eval-group", "eval").back().at("values");
  CHECK(values.contains("one/accuracy"));
  CHECK(values.at("two/accuracy") == values.at("accuracy"));
  CHECK_FALSE(records(unit, "eval").back().at("values").contains("one/accuracy"));
}

TEST_CASE("the name of an evaluation is for a run that follows another") {
  const std::string run = "run " + quoted(config("vision/local.toml").string());
  const ShellResult trains = trivet::test::trivet(run + " --eval-name=long");
  CHECK(trains.exit_code == 2);
  CHECK_THAT(trains.output, Contains("--eval-name requires --mode continuous_eval"));
  const ShellResult leaves =
      trivet::test::trivet(run + " --mode=continuous_eval --workdir=/nowhere --eval-name=../x");
  CHECK(leaves.exit_code == 2);
  CHECK_THAT(leaves.output, Contains("--eval-name takes letters"));
}

}  // namespace launch_evals_test
