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

// The numbers of each line of metrics, without times.
std::vector<nlohmann::json> metrics_of(const std::filesystem::path& workdir) {
  std::vector<nlohmann::json> all;
  for (const char* kind : {"train", "eval"}) {
    for (nlohmann::json& record : records(workdir, kind)) {
      all.push_back({record.at("step"), record.at("values")});
    }
  }
  return all;
}

// Metrics are kept of training and of evaluations.
constexpr const char* kMetrics =
    "mesh.ici_mesh_shape=[2,2,1] trainer.train_steps=6 trainer.steps_per_loop=4 "
    "trainer.validation_interval=4 trainer.checkpoint_interval=3 trainer.max_to_keep=9 "
    "task.eval_input.examples=70 task.eval_input.batch_size=32 ";

}  // namespace

TEST_CASE("a run on a mesh has the same bytes for any number of threads, also when it resumes",
          "[slow]") {
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

TEST_CASE("metrics of a mesh are the same for any number of threads, also when a run resumes") {
  const TempDir dir;
  const auto local = config("vision/local.toml");
  const std::string small = std::string(kSmallRun) + kMetrics;
  const ShellResult whole = run(local, dir.path() / "whole", small);
  INFO(whole.output);
  REQUIRE(whole.exit_code == 0);
  REQUIRE(run(local, dir.path() / "threads", small + "runtime.threads=2").exit_code == 0);
  // As one that was killed after the checkpoint of step 3, in the middle of a loop.
  std::filesystem::copy(dir.path() / "whole", dir.path() / "parts",
                        std::filesystem::copy_options::recursive);
  std::filesystem::remove_all(dir.path() / "parts" / "checkpoints" / "step_00000006");
  REQUIRE(run(local, dir.path() / "parts", small).exit_code == 0);
  const auto metrics = metrics_of(dir.path() / "whole");
  REQUIRE(metrics.size() == 4);
  for (const char* other : {"threads", "parts"}) {
    INFO(other);
    CHECK(metrics_of(dir.path() / other) == metrics);
    CHECK(model_of(dir.path() / other) == model_of(dir.path() / "whole"));
  }
}

TEST_CASE("an evaluation on a mesh counts each example once") {
  const TempDir dir;
  const auto local = config("vision/local.toml");
  // The last batch has 6 examples, which make no 4 shards.
  const std::string words = std::string(kSmallRun) + kMetrics;
  REQUIRE(run(local, dir.path() / "run", words + "trainer.train_steps=40 mode=train").exit_code ==
          0);
  std::vector<nlohmann::json> seen;
  for (const char* mesh : {"mesh.ici_mesh_shape=[2,2,1]", "mesh.ici_mesh_shape=[1,1,1]"}) {
    const std::filesystem::path copy = dir.path() / std::to_string(seen.size());
    std::filesystem::copy(dir.path() / "run", copy, std::filesystem::copy_options::recursive);
    const ShellResult result = run(local, copy, words + "trainer.train_steps=40 mode=eval " + mesh);
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
    seen.push_back(records(copy / "evals" / "1", "eval").back().at("values"));
  }
  CHECK(seen.front().at("accuracy") == seen.back().at("accuracy"));
  CHECK(seen.front().at("validation_loss").get<double>() ==
        Approx(seen.back().at("validation_loss").get<double>()).epsilon(1e-5));
}

TEST_CASE("a metric that cannot be merged is refused on a mesh of several shards") {
  PluginFolder folder;
  folder.copy("unmerged");
  const TempDir dir;
  const std::string words =
      "--plugin-dir " + quoted(folder.path().string()) + " " + std::string(kSmallRun) +
      quoted("task.metrics=[{type=\"unmerged/Batches\"}]") + " trainer.train_steps=2 ";
  for (const char* mode : {"mode=train_and_eval", "mode=eval"}) {
    const ShellResult refused = run(config("vision/local.toml"), dir.path() / "run",
                                    words + mode + " mesh.ici_mesh_shape=[2,1,1]");
    INFO(refused.output);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.output,
               Contains("task.metrics[0]: metric unmerged/Batches has no merge") &&
                   Contains("the mesh makes 2 shards, whose metrics are merged") &&
                   Contains("remove this metric or [mesh], or override Metric::merge"));
    CHECK_FALSE(std::filesystem::exists(dir.path() / "run"));
  }
  const ShellResult taken = run(config("vision/local.toml"), dir.path() / "run", words);
  INFO(taken.output);
  CHECK(taken.exit_code == 0);
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

TEST_CASE("a mesh that a run does not train is refused before a directory is made") {
  struct Case {
    std::string config, overrides, text;
  };
  const Case cases[] = {
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
