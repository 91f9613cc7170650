// SPDX-License-Identifier: Apache-2.0
// Exchanges that run beside a computation: mesh.overlap changes when data move, and no byte. An
// engine as slow as a network lets them last.
#include <signal.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program/mesh/distant_runs.h"
#include "program/mesh/mesh_runs.h"
#include "program/run/watched_run.h"
#include "support/paths.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace overlap_test {
namespace {

// More units of weights than an op may read at once, so that a step gathers some twice.
const std::string kWords = kShortTexts +
                           "trainer.train_steps=4 runtime.threads=1 "
                           "task.train_input.batch_size=4 task.model.model_dims=256 "
                           "task.model.num_layers=5";

struct Result {
  std::string bytes;
  int most_under_way = 0;
};

Result train(const DistantRuns& runs, const std::string& name, const std::string& words) {
  const fs::path report = runs.directory(name).string() + ".txt";
  runs.train(name, words, {.bandwidth = "2e8", .report = report});
  Result result{.bytes = results_of(runs.directory(name), 4)};
  std::ifstream(report) >> result.most_under_way;
  return result;
}

}  // namespace

TEST_CASE("exchanges beside a computation change no byte", "[slow]") {
  const DistantRuns runs(kWords);
  for (const std::string mesh : {"[1,2,1]", "[1,2,2]", "[2,1,1]", "[2,1,2]"}) {
    const std::string words =
        "--mode train trainer.validation_interval=0 mesh.ici_mesh_shape=" + mesh +
        " --processes 2 mesh.overlap=";
    const Result none = train(runs, "none" + mesh, words + "0");
    // Each exchange of two processes is a message in both directions.
    CHECK(none.most_under_way <= 3);
    for (const std::string overlap : {"1", "2", "5"}) {
      const Result some = train(runs, overlap + mesh, words + overlap);
      INFO(mesh << " " << overlap);
      CHECK(some.bytes == none.bytes);
      CHECK(some.most_under_way > 2 * std::stoi(overlap));
    }
  }
}

TEST_CASE("evaluations and checkpoints between steps leave no exchange under way", "[slow]") {
  const DistantRuns runs(kWords);
  for (const std::string mesh : {"[1,4,1]", "[4,1,1]"}) {
    CAPTURE(mesh);
    const std::string words = "mesh.ici_mesh_shape=" + mesh +
                              " trainer.validation_interval=1 trainer.checkpoint_interval=1 "
                              "trainer.validation_steps=2 trainer.ema.decay=0.9 ";
    const Result one = train(runs, "one" + mesh, words + "mesh.processes=1");
    for (const std::string processes : {"2", "4"}) {
      CHECK(train(runs, processes + mesh, words + "--processes " + processes).bytes == one.bytes);
    }
  }
}

TEST_CASE("a process that fails while exchanges are under way says why") {
  const DistantRuns runs(kWords);
  // In a step. The first one knows no order yet.
  for (const std::string call : {"1", "2", "4"}) {
    const ShellResult ran = runs.run(
        "broken" + call,
        "--mode train trainer.validation_interval=0 mesh.ici_mesh_shape=[1,4,1] --processes 4 "
        "task.model.block_tpl.activation.type=distant/Fragile "
        "task.model.block_tpl.activation.rank=2 task.model.block_tpl.activation.call=" +
            call);
    INFO(ran.output);
    CHECK(ran.exit_code == 1);
    CHECK_THAT(ran.output, Contains("process 2 of 4: the layer is broken"));
  }
}

TEST_CASE("a process that is killed while exchanges are under way ends the others in order",
          "[slow]") {
  const TempDir dir;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CAPTURE(rank);
    const fs::path workdir = dir.path() / std::to_string(rank);
    WatchedRun watched(
        workdir,
        {program().string(), "run", config("lm/local.toml").string(), "--workdir", workdir.string(),
         "--mode", "train", "--processes", "4", "mesh.ici_mesh_shape=[1,4,1]", "mesh.overlap=4",
         "trainer.train_steps=10000", "trainer.summary_interval=1", "runtime.threads=1",
         "task.train_input.batch_size=4", "task.train_input.seq_len=32",
         "task.model.max_seq_len=32", "task.model.model_dims=256", "task.model.num_layers=5"},
        dir.path() / "out");
    REQUIRE(watched.wait_for_step(3));
    const std::vector<pid_t> ranks = children_of(watched.process.pid());
    REQUIRE(ranks.size() == 4);
    ::kill(ranks[rank], SIGKILL);
    CHECK(watched.process.wait() == 1);
    CHECK_THAT(watched.process.output(), !Contains("crashed"));
  }
}

TEST_CASE("mesh.overlap has bounds") {
  const TempDir dir;
  for (const std::string value : {"-1", "17", "two"}) {
    const ShellResult result =
        run(config("lm/local.toml"), dir.path() / "run", "mesh.overlap=" + value);
    INFO(result.output);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains("mesh.overlap: "));
    CHECK_FALSE(fs::exists(dir.path() / "run"));
  }
}

}  // namespace overlap_test
