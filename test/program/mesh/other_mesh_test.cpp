// SPDX-License-Identifier: Apache-2.0
// Runs that continue on a mesh of another shape.
#include <filesystem>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace other_mesh_test {
namespace {

constexpr const char* kSteps =
    "mode=train trainer.validation_interval=0 trainer.steps_per_loop=1 "
    "trainer.checkpoint_interval=1 trainer.max_to_keep=0 runtime.threads=1 trainer.train_steps=";

ShellResult train(const fs::path& workdir, int steps, const std::string& mesh) {
  return run(config("lm/local.toml"), workdir,
             kSteps + std::to_string(steps) + " mesh.ici_mesh_shape=" + mesh);
}

double loss_at(const fs::path& workdir, int step) {
  for (const nlohmann::json& record : records(workdir, "train")) {
    if (record.at("step") == step) return record.at("values").at("training_loss");
  }
  throw std::runtime_error("no such step");
}

std::string weights_at(const fs::path& workdir, int step) {
  return read_file(checkpoint_of(workdir, step) / "model.safetensors");
}

}  // namespace

TEST_CASE("a run continues on a mesh of another shape with the same loss", "[slow]") {
  const TempDir dir;
  const fs::path same = dir.path() / "same";
  REQUIRE(train(same, 4, "[4,1,1] --processes 4").exit_code == 0);
  for (const char* name : {"data", "blocks"}) {
    fs::copy(same, dir.path() / name, fs::copy_options::recursive);
  }
  REQUIRE(train(same, 6, "[4,1,1] --processes 2").exit_code == 0);
  // The shards of another axis are the same shards.
  const fs::path data = dir.path() / "data";
  const ShellResult moved = train(data, 6, "[1,4,1] --processes 2");
  INFO(moved.output);
  REQUIRE(moved.exit_code == 0);
  CHECK_THAT(moved.output, Contains("mesh.ici_mesh_shape: [4, 1, 1] -> [1, 4, 1]"));
  CHECK((weights_at(data, 6) == weights_at(same, 6)));
  // Two shards whose layers are in two blocks add in another order.
  const fs::path blocks = dir.path() / "blocks";
  REQUIRE(train(blocks, 6, "[1,2,2] --processes 2").exit_code == 0);
  CHECK(loss_at(blocks, 5) == Approx(loss_at(same, 5)).epsilon(1e-5));
  CHECK((weights_at(blocks, 4) == weights_at(same, 4)));
  // To initialize and save a run's weights on this mesh changes none of them.
  const fs::path loaded = dir.path() / "loaded";
  REQUIRE(train(loaded, 1,
                "[1,2,2] --processes 2 trainer.checkpoint_at_start=true "
                "task.init_checkpoint=" +
                    quoted((checkpoint_of(same, 4)).string()))
              .exit_code == 0);
  CHECK((weights_at(loaded, 0) == weights_at(same, 4)));
}

}  // namespace other_mesh_test
