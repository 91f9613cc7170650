// SPDX-License-Identifier: Apache-2.0
// The tutorial docs/sweep-fashion-mnist.md: writes its files and runs its commands, in order and
// unchanged.
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program/launch/launched_experiments.h"
#include "program/launch/page_steps.h"
#include "support/paths.h"

namespace tutorial_test {

using namespace trivet::test;
using Catch::Contains;
using Json = nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("the tutorial's commands work as written", "[slow]") {
  if (!fs::exists("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")) {
    WARN("Fashion-MNIST is not installed (Debian: dataset-fashion-mnist)");
    return;
  }
  Experiments at;
  at.root = at.folder / "runs";
  fs::create_directory_symlink(source_root() / "configs", at.folder / "configs");
  const std::string in_folder =
      "cd " + quoted(at.folder.path().string()) +
      " && export HOME=/nonexistent PATH=" + quoted(program().parent_path().string()) +
      ":$PATH TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string()) +
      " XDG_RUNTIME_DIR=" + quoted(at.folder.path().string()) + "; unset TRIVET_ROOT; ";
  const std::vector<PageStep> steps = steps_of(source_root() / "docs/sweep-fashion-mnist.md");
  REQUIRE(steps.size() > 12);
  for (const PageStep& step : steps) {
    if (!step.file.empty()) {
      at.folder.write(step.file, step.text);
      continue;
    }
    const ShellResult result = shell(in_folder + step.text);
    INFO("$ " << step.text << "\n" << result.output);
    REQUIRE(result.exit_code == 0);
  }
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  CHECK(at.status("1").at("units").size() == 6);
  CHECK(at.status("2").at("units").size() == 5);
  CHECK(at.status("2").at("states").at("completed") == 5);
  CHECK(fs::is_directory(
      at.root / "1/3-trainer.learning_rate.initial_value=0.001,task.model.hidden_dims=(64)"));
  const auto accuracy = [&](int wid) {
    return json_of(at.unit_file(wid, "summary.json")).at("eval").at("accuracy").get<double>();
  };
  // The claims of the page about them.
  CHECK(accuracy(3) > accuracy(5));
  CHECK(accuracy(4) > accuracy(6));
}

}  // namespace tutorial_test
