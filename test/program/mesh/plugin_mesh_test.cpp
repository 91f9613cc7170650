// SPDX-License-Identifier: Apache-2.0
// Classes of a plugin that knows nothing of meshes train on one, with the bytes of one process.
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/paths.h"
#include "support/plugin_folder.h"

using namespace trivet::test;
namespace fs = std::filesystem;

namespace plugin_mesh_test {
namespace {

constexpr const char* kSteps =
    " mode=train trainer.validation_interval=0 trainer.steps_per_loop=2 trainer.train_steps=6 "
    "trainer.checkpoint_interval=6 runtime.threads=1 ";
constexpr const char* kMesh = "mesh.ici_mesh_shape=[2,2,2] ";

// The bytes of each number of processes that can share the mesh are equal.
void check_processes(const fs::path& config, const std::string& more) {
  PluginFolder plugins;
  plugins.copy("examples");
  const TempDir dir;
  std::string one;
  for (const int processes : {1, 2, 4, 8}) {
    const fs::path workdir = dir.path() / std::to_string(processes);
    const ShellResult result = run(config, workdir,
                                   "--plugin-dir " + quoted(plugins.path().string()) + kSteps +
                                       more + " --processes " + std::to_string(processes));
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
    const fs::path checkpoint = checkpoint_of(workdir, 6);
    const std::string bytes = read_file(checkpoint / "model.safetensors") +
                              read_file(checkpoint / "optimizer.safetensors") +
                              record_values(workdir);
    if (processes == 1) one = bytes;
    CHECK((bytes == one));
  }
}

}  // namespace

TEST_CASE("model, layer, task, input and optimizer of a plugin train on any number of processes",
          "[slow]") {
  check_processes(source_root() / "sdk/examples/wave.toml", kMesh);
}

TEST_CASE("a layer of a plugin works inside of blocks that processes share", "[slow]") {
  check_processes(config("lm/local.toml"),
                  std::string("task.model.block_tpl.activation=examples/Swish ") + kMesh);
}

TEST_CASE("a layer of a plugin that is local in time computes blocks of positions", "[slow]") {
  check_processes(config("lm/local.toml"),
                  "task.model.block_tpl.activation=examples/Swish "
                  "\"mesh.mesh_axis_names=['data','seq']\" mesh.ici_mesh_shape=[2,4] ");
}

}  // namespace plugin_mesh_test
