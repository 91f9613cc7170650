// SPDX-License-Identifier: Apache-2.0
// `trivet experiments` and --experiment, through the program.
#include <algorithm>
#include <filesystem>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program/run/run_fixture.h"
#include "support/paths.h"
#include "support/plugin_folder.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// A folder with the plugin demo, which registers demo/small, and this file next to it.
struct DemoFolder {
  explicit DemoFolder(std::string_view name = {}, std::string_view text = {}) {
    folder.copy("demo");
    if (!name.empty()) add(name, text);
  }
  fs::path add(std::string_view name, std::string_view text) {
    const fs::path path = folder.path() / "demo" / "configs" / name;
    fs::create_directories(path.parent_path());
    scratch.write("text", text);
    fs::copy_file(scratch / "text", path);
    return path;
  }
  ShellResult trivet(const std::string& words) const {
    const std::string opened = (folder.path() / "opened").string();
    return shell("TRIVET_TEST_OPENED=" + quoted(opened) + " " + folder.trivet() + " " + words);
  }

  PluginFolder folder;
  TempDir scratch;
};

// The program with the shipped plugins.
ShellResult with_plugins(const std::string& words) {
  return trivet::test::trivet(words);
}

}  // namespace

TEST_CASE(
    "trivet experiments lists registered ones and files, one line each, without loading plugins") {
  DemoFolder demo("other.toml",
                  "# SPDX-License-Identifier: MIT\n# Like small,\n# but 0.5 larger. And so on.\n"
                  "experiment = 'demo/small'\n");
  demo.add("common/part.toml", "seed = 1\n");
  const ShellResult listed = demo.trivet("experiments");
  CHECK(listed.exit_code == 0);
  CHECK(listed.output ==
        "demo/other  Like small, but 0.5 larger.\n"
        "demo/small  An experiment.\n");
  const auto json = nlohmann::json::parse(demo.trivet("experiments --json").output);
  REQUIRE(json.size() == 2);
  CHECK(json[0].at("key") == "demo/other");
  CHECK(fs::path(json[0].at("file")) == demo.folder.path() / "demo/configs/other.toml");
  CHECK(json[1].at("doc") == "An experiment.");
  CHECK(demo.trivet("explain demo/other").output ==
        "demo/other (experiment)\n  Like small, but 0.5 larger.\n\nFrom " +
            (demo.folder.path() / "demo/configs/other.toml").string() + "\n");
  CHECK_FALSE(fs::exists(demo.folder.path() / "opened"));
}

TEST_CASE("an experiment that is a file resolves by its name") {
  DemoFolder demo("other.toml", "experiment = 'demo/small'\nseed = 4\n");
  const ShellResult shown = demo.trivet("config show --experiment demo/other --origin");
  INFO(shown.output);
  CHECK(shown.exit_code == 0);
  CHECK_THAT(shown.output, Contains("seed = 4  # ") && Contains("other.toml:2:8"));
  CHECK_THAT(shown.output, Contains("backend = \"demo/Backend\"  # experiment demo/small"));
}

TEST_CASE("two experiments with one name are an error that names both") {
  const DemoFolder demo("small.toml", "seed = 1\n");
  const ShellResult shown = demo.trivet("config show --experiment demo/small");
  CHECK(shown.exit_code == 2);
  CHECK_THAT(shown.output, Contains("two experiments are named 'demo/small'") &&
                               Contains("demo.so registers one") &&
                               Contains("demo/configs/small.toml is the other"));
  CHECK_THAT(demo.trivet("experiments").output,
             Contains("refused:") && Contains("two experiments have this"));
}

TEST_CASE("a missing experiment, or one that others could change, is an error") {
  DemoFolder demo;
  const ShellResult missing = demo.trivet("config show --experiment demo/smal");
  CHECK(missing.exit_code == 2);
  CHECK_THAT(missing.output,
             Contains("unknown experiment 'demo/smal'") && Contains("did you mean 'demo/small'?"));
  const fs::path open = demo.add("open.toml", "experiment = 'demo/small'\n");
  fs::permissions(open, fs::perms::others_write, fs::perm_options::add);
  const ShellResult unsafe = demo.trivet("config show --experiment demo/open");
  CHECK(unsafe.exit_code == 2);
  CHECK_THAT(unsafe.output, Contains("can be changed by others"));
}

TEST_CASE("a run by name applies a kxm or Model Garden command line") {
  const TempDir dir;
  const fs::path workdir = dir / "run";
  const fs::path more = dir.write("more.toml", "[trainer]\ntrain_steps = 30\nmax_to_keep = 1\n");
  const ShellResult result =
      with_plugins("run --experiment vision/mnist_local --mode train_and_eval --workdir " +
                   quoted(workdir.string()) + " --config_file " + quoted(more.string()) +
                   " --params_override 'trainer.max_to_keep=2, trainer.steps_per_loop=10' "
                   "trainer.steps_per_loop=15");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const std::string config = read_file(workdir / "config.toml");
  CHECK_THAT(config, Contains("train_steps = 30") && Contains("max_to_keep = 2") &&
                         Contains("steps_per_loop = 15"));
  CHECK(records(workdir, "train").size() == 2);
  // Its config.toml is a complete config with the same values.
  const std::string again =
      with_plugins("config show " + quoted((workdir / "config.toml").string())).output;
  CHECK(config.substr(config.find("name = ")) == again);
  // An unwritable file is replaced when the run continues, with the same restrictions.
  fs::permissions(workdir / "config.toml", fs::perms::owner_read);
  const ShellResult longer = run(workdir / "config.toml", workdir, "trainer.train_steps=45");
  INFO(longer.output);
  REQUIRE(longer.exit_code == 0);
  CHECK_THAT(read_file(workdir / "config.toml"),
             Contains("train_steps = 45") && Contains("restrictions = [\"vision/mnist_local\"]"));
  // The restrictions of the experiment apply.
  const ShellResult broken =
      run(workdir / "config.toml", workdir, "'task.train_input.image_shape=[8, 8, 1]'");
  CHECK(broken.exit_code == 2);
  CHECK_THAT(broken.output, Contains("task.train_input.image_shape: is [8, 8, 1], but "
                                     "task.model.image_shape is [16, 16, 1]"));
}

TEST_CASE("a shipped config equals the experiment of its name", "[slow]") {
  CHECK_THAT(with_plugins("experiments").output,
             Contains("(Radford et al. 2019), as nanoGPT and llm.c train it.\n"));
  for (const std::string name :
       {"lm/c4_1b_4", "lm/c4_gpt3_xl_8", "lm/gpt2_124m", "lm/kjv", "lm/licenses", "lm/local",
        "lm/masked", "tabular/weather", "vision/fashion_mnist_cnn", "vision/fashion_mnist_mlp",
        "vision/local", "vision/mixup", "vision/multitask", "vision/progressive",
        "vision/rand_augment"}) {
    INFO(name);
    const ShellResult file = with_plugins("config show " + quoted(config(name + ".toml").string()));
    CHECK(file.exit_code == 0);
    CHECK(with_plugins("config show --experiment " + name).output == file.output);
  }
}

TEST_CASE("the restrictions of a registered experiment are checked before anything is created") {
  const TempDir dir;
  const fs::path workdir = dir / "run";
  const ShellResult result =
      with_plugins("run --experiment vision/mnist_local --workdir " + quoted(workdir.string()) +
                   " 'task.train_input.image_shape=[8, 8, 1]' seed=-x");
  CHECK(result.exit_code == 2);
  CHECK_FALSE(fs::exists(workdir));
  CHECK_THAT(result.output, Contains("seed: '-x' is not an integer"));
  const ShellResult alone =
      with_plugins("run --experiment vision/mnist_local --workdir " + quoted(workdir.string()) +
                   " 'task.train_input.image_shape=[8, 8, 1]'");
  CHECK(alone.exit_code == 2);
  CHECK_FALSE(fs::exists(workdir));
  CHECK_THAT(alone.output, Contains("task.train_input.image_shape: is [8, 8, 1], but "
                                    "task.model.image_shape is [16, 16, 1]"));
}
