// SPDX-License-Identifier: Apache-2.0
// Launched runs whose process ends with an exit code of 0 before they are done.
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "launched_experiments.h"
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

}  // namespace launch_done_test
