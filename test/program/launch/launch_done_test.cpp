// SPDX-License-Identifier: Apache-2.0
// Launched runs whose process ends with an exit code of 0 before their last step.
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "launched_experiments.h"
#include "program/run/run_fixture.h"
#include "support/paths.h"
#include "support/plugin_folder.h"

namespace launch_done_test {

using namespace trivet::test;
using Catch::Contains;

TEST_CASE("a run whose process was ended from inside with exit code 0 counts as failed", "[slow]") {
  const PluginFolder plugins;
  plugins.copy("walkout");
  const Experiments at(
      "type = 'local/Orchestrator'\n",
      "TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string() + ":" + plugins.path().string()) + " ");
  const ShellResult launched = at.trivet("launch " + quoted(config("vision/local.toml").string()) +
                                         " --xp.root_dir=" + quoted(at.root.string()) +
                                         " trainer.train_steps=20 trainer.validation_interval=0"
                                         " task.model.activation.type=walkout/Leave"
                                         " --sweep task.model.activation.how=stays,leaves,becomes");
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] {
    const auto states = at.status().at("states");
    return states.value("completed", 0) + states.value("failed", 0) == 3;
  }));
  CHECK(at.state(1, "train") == "completed");
  for (const int wid : {2, 3}) {
    CHECK(at.state(wid, "train") == "failed");
    CHECK_THAT(at.job(wid, "train").at("detail").get<std::string>(),
               Contains("exit code 0 before it was done"));
  }
  CHECK_THAT(at.trivet("status 1").output, Contains("1 completed, 2 failed"));
  const std::string listed = at.trivet("ls 1").output;
  INFO(listed);
  CHECK_THAT(listed, Contains("failed") && Contains("completed"));
  CHECK_THAT(at.trivet("retry 1").output, Contains("2 work units"));
}

TEST_CASE("units of a sweep that ended early are completed, and status shows the reason") {
  const Experiments at("type = 'local/Orchestrator'\n",
                       "TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string()) + " ");
  const std::string stop =
      "{type = 'trivet/EarlyStop', metric = 'accuracy', min_delta = 1, patience = ";
  const ShellResult launched = at.trivet(
      "launch " + quoted(config("vision/local.toml").string()) +
      " --xp.root_dir=" + quoted(at.root.string()) + " " + kSmallRun +
      "trainer.train_steps=60 trainer.steps_per_loop=10 trainer.validation_interval=20 --sweep " +
      quoted("trainer.eval_actions=[" + stop + "1}],[" + stop + "9}]"));
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return at.status().at("states").value("completed", 0) == 2; }));
  CHECK_THAT(at.job(1, "train").at("detail").get<std::string>(),
             Contains("ended early: accuracy did not improve on") && Contains("in 1 event"));
  CHECK(at.job(2, "train").value("detail", "") == "");
  CHECK_THAT(at.trivet("status 1").output,
             Contains("train completed (ended early: accuracy did not improve on"));
  // Nothing is left to be done.
  CHECK_THAT(at.trivet("retry 1").output, Contains("0 work units"));
  CHECK_THAT(at.trivet("resume 1").output, Contains("0 work units"));
}

TEST_CASE("units without checkpoints are completed") {
  const Experiments at("type = 'local/Orchestrator'\n",
                       "TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string()) + " ");
  const ShellResult launched =
      at.trivet("launch " + quoted(config("vision/local.toml").string()) +
                " --xp.root_dir=" + quoted(at.root.string()) + " " + kSmallRun +
                "trainer.train_steps=20 trainer.save_checkpoints=false --sweep seed=1,2");
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return at.status().at("states").value("completed", 0) == 2; }));
  for (const char* unit : {"1-seed=1", "2-seed=2"}) {
    CHECK(records(at.root / "1" / unit, "eval").size() == 1);
    CHECK_FALSE(std::filesystem::exists(at.root / "1" / unit / "checkpoints"));
  }
}

}  // namespace launch_done_test
