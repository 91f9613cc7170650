// SPDX-License-Identifier: Apache-2.0
// Runs whose processes have parts of the weights: neither the number of processes nor what reads
// the weights changes a byte.
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "program/mesh/mesh_runs.h"
#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/paths.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace weights_over_data_test {
namespace {

// More units of weights than are whole at once.
const std::string kWide =
    kShortTexts +
    "task.model.model_dims=256 task.model.num_layers=4 task.model.dropout=0.1 "
    "task.train_input.batch_size=4 trainer.validation_steps=1 runtime.threads=1 "
    "trainer.gradient_clip.global_norm=0.5 trainer.ema.decay=0.9 ";

}  // namespace

TEST_CASE("weights over data have the bytes of one process", "[slow]") {
  const std::string remat =
      "task.model.stacked_transformer_tpl.checkpoint_policy=save_nothing "
      "trainer.validation_interval=2 ";
  for (const char* mesh : {"[1,4,1]", "[2,2,1]", "[1,2,2]"}) {
    CAPTURE(mesh);
    const MeshRuns runs(kWide);
    const std::string words = remat + "mesh.ici_mesh_shape=" + mesh;
    const std::string one = runs.results("one", words, 3);
    for (const char* count : {"2", "4"}) {
      CAPTURE(count);
      CHECK((runs.results(count, words + " --processes " + count, 3) == one));
    }
  }
}

TEST_CASE("whole variables of processes have the bytes of one process", "[slow]") {
  const char* const updates[] = {
      "trainer.optimizer.type=optim/Adafactor",
      "trainer.optimizer.type=optim/Lamb trainer.gradient_clip.per_variable_norm=0.05",
      "trainer.optimizer.type=optim/Adam trainer.optimizer.clip_threshold=0.5",
      "trainer.gradient_noise.stddev=0.001 trainer.variational_noise.scale=0.01"};
  for (const char* update : updates) {
    // Processes share weights, or updates alone.
    for (const bool shares_weights : {true, false}) {
      CAPTURE(update, shares_weights);
      const MeshRuns runs(kWide);
      const std::string words = std::string(update) +
                                " trainer.validation_interval=0 mesh.ici_mesh_shape=" +
                                (shares_weights ? "[2,2,1]" : "[4,1,1]");
      const std::string one = runs.results("one", words, 2);
      CHECK((runs.results("four", words + " --processes 4", 2) == one));
      if (shares_weights) CHECK((runs.results("two", words + " --processes 2", 2) == one));
    }
  }
}

TEST_CASE("variational noise of weights over data is drawn by those that have them", "[slow]") {
  const MeshRuns runs(kWide);
  const std::string words =
      "mesh.ici_mesh_shape=[1,2,1] trainer.variational_noise.scale=0.01 "
      "trainer.gradient_accumulation=2 trainer.validation_interval=2";
  CHECK((runs.results("two", words + " --processes 2", 3) == runs.results("one", words, 3)));
}

TEST_CASE("weights over data: micro-batches, and limits on each of them", "[slow]") {
  const MeshRuns runs(kWide);
  const std::string words =
      "mesh.ici_mesh_shape=[1,2,1] trainer.gradient_accumulation=2 "
      "trainer.gradient_clip.each_part=true trainer.validation_interval=0";
  CHECK((runs.results("two", words + " --processes 2", 2) == runs.results("one", words, 2)));
}

TEST_CASE("a run with weights over data continues with another number of processes", "[slow]") {
  const auto update = GENERATE(as<std::string>(), "", "trainer.optimizer.type=optim/Adafactor ");
  const MeshRuns runs(kWide);
  const std::string words = update + "mesh.ici_mesh_shape=[1,4,1] trainer.validation_interval=0";
  runs.results("whole", words, 4);
  runs.results("parts", words + " --processes 4", 2);
  runs.results("parts", words + " --processes 2", 3);
  runs.results("parts", words, 4);
  // Records are also written where a run ends.
  CHECK((tensors_of(runs.workdir("parts"), 4) == tensors_of(runs.workdir("whole"), 4)));
}

// A batch of three rows is of one shard alone, and one of eight of all.
TEST_CASE("weights over data: evaluations in which processes have no rows", "[slow]") {
  const MeshRuns runs(kWide);
  for (const char* rows : {"3", "8"}) {
    const std::string words =
        "mesh.ici_mesh_shape=[1,4,1] trainer.validation_interval=1 "
        "trainer.validation_steps=2 task.eval_input.batch_size=" +
        std::string(rows);
    const std::string name(rows);
    const std::string one = runs.results(name + "one", words, 2);
    CHECK((runs.results(name + "two", words + " --processes 2", 2) == one));
    CHECK((runs.results(name + "four", words + " --processes 4", 2) == one));
  }
}

TEST_CASE("the log says where processes have all weights, although a mesh splits them", "[slow]") {
  const TempDir dir;
  const auto log_of = [&](const std::string& name, const std::string& words) {
    const ShellResult ran =
        run(config("lm/local.toml"), dir.path() / name,
            "trainer.train_steps=1 trainer.validation_interval=0 trainer.validation_steps=1 "
            "mesh.ici_mesh_shape=[1,2,1] --processes 2 " +
                words);
    INFO(ran.output);
    REQUIRE(ran.exit_code == 0);
    return ran.output;
  };
  const std::string told = "the mesh has 2 devices along data, and each process has all weights: ";
  CHECK_THAT(log_of("small", "task.model.model_dims=8"), Contains(told + "they are few"));
  CHECK_THAT(log_of("parts", ""), !Contains("all weights"));
  CHECK_THAT(log_of("lamb", "trainer.optimizer.type=optim/Lamb"), !Contains("all weights"));
}

}  // namespace weights_over_data_test
