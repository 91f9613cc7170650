// SPDX-License-Identifier: Apache-2.0
// A property of meshes: whatever their shape, model and optimizer, a run has the same results from
// any number of processes that can share the mesh.
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/ranges.h>

#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "trivet/backend/mesh.h"
#include "trivet/backend/mesh_layout.h"

using namespace trivet::test;
namespace fs = std::filesystem;

namespace random_meshes_test {
namespace {

class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  template <class T>
  T one_of(const std::vector<T>& choices) {
    return choices[engine_() % choices.size()];
  }

 private:
  std::mt19937 engine_;  // the same numbers with every library
};

// Of 2 to 16 devices.
trivet::MeshConfig random_mesh(Draw& draw) {
  while (true) {
    trivet::MeshConfig mesh;
    mesh.mesh_axis_names = {"stage", "replica", "data", "seq", "mdl"};
    mesh.ici_mesh_shape = {
        draw.one_of<std::int64_t>({1, 1, 2, 3}), draw.one_of<std::int64_t>({1, 2, 3, 4}),
        draw.one_of<std::int64_t>({1, 2, 4}), draw.one_of<std::int64_t>({1, 2, 4}),
        draw.one_of<std::int64_t>({1, 2, 4})};
    mesh.dcn_mesh_shape = {1, draw.one_of<std::int64_t>({1, 1, 2}), 1, 1, 1};
    const bool is_refused = mesh.extent("stage") > 1 && mesh.extent("seq") > 1;
    if (!is_refused && mesh.devices() > 1 && mesh.devices() <= 16) return mesh;
  }
}

std::string random_words(Draw& draw, const trivet::MeshConfig& mesh) {
  const std::string optimizer =
      draw.one_of<std::string>({"Adam", "AdamW", "Sgd", "Lion", "Adafactor", "Lamb"});
  const std::int64_t rows = draw.one_of<std::int64_t>({1, 2});
  return fmt::format(
      "\"mesh.mesh_axis_names=['stage','replica','data','seq','mdl']\" "
      "mesh.ici_mesh_shape=[{}] mesh.dcn_mesh_shape=[{}] task.train_input.batch_size={} "
      "task.model.stacked_transformer_tpl.pipeline.num_microbatches={} "
      "task.model.num_layers={} task.model.model_dims={} task.model.dropout={} "
      "trainer.optimizer.type=optim/{} {} trainer.train_steps=3 trainer.validation_interval=3 "
      "trainer.validation_steps=1 runtime.threads=1 ",
      fmt::join(mesh.ici_mesh_shape, ","), fmt::join(mesh.dcn_mesh_shape, ","),
      trivet::MeshLayout(mesh).shards() * rows, rows,
      mesh.ici_mesh_shape.front() * draw.one_of<std::int64_t>({1, 2}), draw.one_of<int>({32, 64}),
      draw.one_of<double>({0, 0.1}), optimizer,
      draw.one_of<std::string>(
          {"", "trainer.ema.decay=0.9", "trainer.gradient_clip.global_norm=0.5"}));
}

}  // namespace

TEST_CASE("random meshes have the same results from any number of processes", "[slow]") {
  Draw draw(2026);
  for (int i = 0; i < 6; ++i) {
    const trivet::MeshConfig mesh = random_mesh(draw);
    const std::string words = random_words(draw, mesh);
    CAPTURE(words);
    const TempDir dir;
    std::string one;
    for (const std::int64_t count : trivet::MeshLayout(mesh).process_counts()) {
      const fs::path workdir = dir.path() / std::to_string(count);
      const ShellResult result =
          run(config("lm/local.toml"), workdir, words + "--processes " + std::to_string(count));
      INFO(result.output);
      REQUIRE(result.exit_code == 0);
      if (count == 1) one = results_of(workdir, 3);
      CHECK((results_of(workdir, 3) == one));
    }
  }
}

}  // namespace random_meshes_test
