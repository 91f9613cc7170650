// SPDX-License-Identifier: Apache-2.0
// Every command finds the plugins of an experiment in the folders of its launch.
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "launched_experiments.h"
#include "launching.h"
#include "support/paths.h"

namespace launch_plugins_test {

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

ShellResult command(const Launching& at, const std::string& words) {
  return trivet::test::trivet(words + " --root=" + quoted(at.root()));
}

}  // namespace

TEST_CASE("commands on an experiment find the plugins of its launch") {
  const Launching at;
  const ShellResult launched = at.launch(at.xp("[xp.jobs.a]\ntarget = '/bin/true'\n"));
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  for (const char* words : {"cancel 1", "retry 1", "resume 1", "status 1"}) {
    INFO(words);
    const ShellResult result = command(at, words);
    INFO(result.output);
    CHECK(result.exit_code == 0);
  }
  // If the plugins have moved, the error names them, and the new folder can be given.
  const fs::path moved = at.folder / "moved";
  fs::copy(at.plugins.path(), moved);
  SECTION("from their folder") {
    REQUIRE(fs::remove(at.plugins.path() / "paper.so"));
  }
  std::string told;
  SECTION("with their folder") {
    REQUIRE(fs::remove_all(at.plugins.path()) > 0);
    told = "the plugin folder " + at.plugins.path().string() + " of ";
  }
  for (const char* words : {"cancel 1", "retry 1", "resume 1"}) {
    INFO(words);
    const ShellResult lost = command(at, words);
    INFO(lost.output);
    CHECK(lost.exit_code == 2);
    CHECK_THAT(lost.output, Contains("there is no orchestrator 'paper/Orchestrator'") &&
                                Contains("--plugin-dir") && Contains(told));
    const ShellResult found = command(at, words + (" --plugin-dir=" + quoted(moved.string())));
    INFO(found.output);
    CHECK(found.exit_code == 0);
  }
  const ShellResult status = command(at, "status 1 --plugin-dir=" + quoted(moved.string()));
  INFO(status.output);
  CHECK(status.exit_code == 0);
}

TEST_CASE("runs of units find the plugins of the launch", "[slow]") {
  const Experiments at;
  const PluginFolder plugins;
  plugins.copy("demo");
  const std::string words =
      "--xp.root_dir=" + quoted(at.root.string()) +
      " --cfg=" + quoted(config("vision/local.toml").string()) + " --plugin-dir " +
      quoted(plugins.path().string()) + " " + std::string(kSmallRun) +
      "trainer.train_steps=2 trainer.steps_per_loop=1 task.model.activation=demo/Relu ";
  for (const std::string& launch :
       {"launch " + words + "--sweep seed=1,2",
        "launch " + words +
            "--xp.orchestrator=search/Orchestrator --xp.orchestrator.goal=min "
            "--xp.orchestrator.objective=validation_loss "
            "--xp.orchestrator.trials=2 "
            "'--xp.orchestrator.space.seed={int = [1, 1000000]}'"}) {
    const ShellResult launched = at.trivet(launch);
    INFO(launched.output);
    REQUIRE(launched.exit_code == 0);
  }
  for (const char* xid : {"1", "2"}) {
    REQUIRE(comes_true([&] { return !at.status(xid).at("supervised"); }));
    INFO(at.trivet(std::string("status ") + xid).output);
    CHECK(at.status(xid).at("states") == nlohmann::json{{"completed", 2}});
  }
}

}  // namespace launch_plugins_test
