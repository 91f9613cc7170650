// SPDX-License-Identifier: Apache-2.0
// Runs on a mesh of several shards, in one process.
#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/plugin_folder.h"

using namespace trivet::test;
using Catch::Contains;

namespace {

constexpr const char* kMesh =
    "mesh.ici_mesh_shape=[2,2,1] task.model.dropout=0.1 trainer.train_steps=6 "
    "trainer.steps_per_loop=2 trainer.validation_interval=0 trainer.gradient_clip.global_norm=0.5 "
    "trainer.ema.decay=0.9 mode=train ";

std::string model_of(const std::filesystem::path& run) {
  return read_file(run / "checkpoints" / "step_00000006" / "model.safetensors");
}

}  // namespace

TEST_CASE("a run on a mesh has the same bytes for any number of threads, also when it resumes") {
  const TempDir dir;
  const auto local = config("lm/local.toml");
  const ShellResult whole =
      run(local, dir.path() / "whole", std::string(kMesh) + "runtime.threads=1");
  INFO(whole.output);
  REQUIRE(whole.exit_code == 0);
  REQUIRE(run(local, dir.path() / "threads", std::string(kMesh) + "runtime.threads=3").exit_code ==
          0);
  REQUIRE(run(local, dir.path() / "parts",
              std::string(kMesh) + "runtime.threads=1 trainer.train_steps=3")
              .exit_code == 0);
  REQUIRE(run(local, dir.path() / "parts", std::string(kMesh) + "runtime.threads=1").exit_code ==
          0);
  const std::string model = model_of(dir.path() / "whole");
  CHECK(model_of(dir.path() / "threads") == model);
  CHECK(model_of(dir.path() / "parts") == model);
  // Another mesh draws and adds in another way.
  REQUIRE(run(local, dir.path() / "other",
              std::string(kMesh) + "runtime.threads=1 mesh.ici_mesh_shape=[2,1,1]")
              .exit_code == 0);
  CHECK(model_of(dir.path() / "other") != model);
}

TEST_CASE("slices and axes of one extent are a mesh of one shard, with the bytes of none") {
  const TempDir dir;
  const std::string short_run = "trainer.train_steps=6 trainer.validation_interval=0 mode=train ";
  REQUIRE(run(config("lm/local.toml"), dir.path() / "none", short_run).exit_code == 0);
  REQUIRE(run(config("lm/local.toml"), dir.path() / "one",
              short_run + "mesh.ici_mesh_shape=[1,1,1] mesh.dcn_mesh_shape=[1,1,1]")
              .exit_code == 0);
  CHECK(model_of(dir.path() / "one") == model_of(dir.path() / "none"));
}

TEST_CASE("a mesh that one process does not train is refused before a directory is made") {
  struct Case {
    std::string config, overrides, text;
  };
  const Case cases[] = {
      {"lm/c4_16b_32.toml", "", "mesh.processes: is 8, but a run is one process"},
      {"lm/local.toml", "mesh.ici_mesh_shape=[1,2,2]",
       "mesh: has 2 devices along mdl, but a run trains meshes of replica, data and data_expert "
       "only"},
      {"lm/local.toml", "mesh.ici_mesh_shape=[3,1,1]",
       "mesh: cuts a batch into 3 shards, which do not divide its 8 examples"},
      {"lm/local.toml", "mesh.ici_mesh_shape=[8,1,1] mesh.processes=3",
       "mesh.processes: is 3; this mesh of 8 devices can be shared by 1, 2, 4, 8"},
  };
  for (const Case& refused : cases) {
    const TempDir dir;
    const ShellResult result = run(config(refused.config), dir.path() / "run", refused.overrides);
    INFO(result.output);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains(refused.text));
    CHECK_FALSE(std::filesystem::exists(dir.path() / "run"));
  }
}

TEST_CASE("a trainer that knows nothing of shards is refused on a mesh of several") {
  PluginFolder folder;
  folder.copy("demo");
  const TempDir dir;
  const std::string words = "--plugin-dir " + quoted(folder.path().string()) +
                            " trainer.type=demo/Trainer trainer.train_steps=2 mode=train ";
  const ShellResult refused =
      run(config("lm/local.toml"), dir.path() / "run", words + "mesh.ici_mesh_shape=[2,1,1]");
  INFO(refused.output);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output,
             Contains("trainer: demo/Trainer trains one shard, and the mesh makes 2"));
  CHECK_FALSE(std::filesystem::exists(dir.path() / "run"));
}
