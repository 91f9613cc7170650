// SPDX-License-Identifier: Apache-2.0
// Processes that share the blocks of layers: by MPI, stopped, killed, and one that stands still.
#include <signal.h>

#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/overrides.h"
#include "support/paths.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace shared_blocks_test {
namespace {

constexpr int kSteps = 60;

std::vector<std::string> words(const fs::path& workdir, const std::vector<std::string>& more) {
  std::vector<std::string> all = {program().string(),
                                  "run",
                                  config("lm/local.toml").string(),
                                  "--workdir",
                                  workdir.string(),
                                  "mode=train",
                                  "trainer.validation_interval=0",
                                  "trainer.steps_per_loop=1",
                                  "trainer.checkpoint_interval=10",
                                  "trainer.train_steps=" + std::to_string(kSteps),
                                  "runtime.threads=1",
                                  "mesh.ici_mesh_shape=[2,1,2]"};
  all.insert(all.end(), more.begin(), more.end());
  return last_of_each(all);
}

int run_to_end(const fs::path& workdir, const std::vector<std::string>& more) {
  const TempDir log;
  Process process(words(workdir, more), log.path() / "out");
  const int code = process.wait();
  UNSCOPED_INFO(process.output());
  return code;
}

}  // namespace

TEST_CASE("MPI's processes that share blocks end in the bytes of one", "[slow][nosan]") {
  if (!fs::exists(plugin_dir() / "mpi.so")) {
    WARN("the plugin mpi is not built");
    SUCCEED();
    return;
  }
  const TempDir dir;
  const std::string mesh = "mesh.ici_mesh_shape=[1,1,4]";
  REQUIRE(run_to_end(dir.path() / "one", {mesh}) == 0);
  REQUIRE(run_to_end(dir.path() / "two", {mesh, "mesh.processes=2", "mesh.collective=mpi/Mpi"}) ==
          0);
  CHECK((results_of(dir.path() / "two", kSteps) == results_of(dir.path() / "one", kSteps)));
}

TEST_CASE("a run whose processes share blocks continues after a stop and kills", "[slow]") {
  const TempDir dir;
  const fs::path one = dir.path() / "one", workdir = dir.path() / "run";
  REQUIRE(run_to_end(one, {}) == 0);
  struct Stop {
    int signal;
    std::size_t rank;
    int code;
  };
  // Ranks 0 and 1 share the blocks of a shard, 2 and 3 those of the other.
  const Stop stops[] = {{SIGKILL, 1, 1}, {SIGTERM, 2, 75}, {SIGKILL, 0, 1}};
  std::int64_t step = 12;
  for (const auto& [signal, rank, code] : stops) {
    CAPTURE(signal, rank);
    WatchedRun watched(workdir, words(workdir, {"mesh.processes=4"}), dir.path() / "out");
    const bool came = watched.wait_for_step(step);
    INFO(watched.process.output());
    REQUIRE(came);
    const std::vector<pid_t> ranks = children_of(watched.process.pid());
    REQUIRE(ranks.size() == 4);
    ::kill(ranks[rank], signal);
    CHECK(watched.process.wait() == code);
    step += 12;
  }
  REQUIRE(run_to_end(workdir, {"mesh.processes=2"}) == 0);
  CHECK((results_of(workdir, kSteps) == results_of(one, kSteps)));
}

TEST_CASE("a process that stands still ends those that wait for its blocks", "[slow]") {
  const TempDir dir;
  const fs::path workdir = dir.path() / "run";
  WatchedRun watched(
      workdir,
      words(workdir, {"mesh.processes=4", "mesh.timeout=1s", "trainer.train_steps=100000"}),
      dir.path() / "out");
  REQUIRE(watched.wait_for_step(5));
  const std::vector<pid_t> ranks = children_of(watched.process.pid());
  REQUIRE(ranks.size() == 4);
  ::kill(ranks[3], SIGSTOP);
  CHECK(watched.process.wait() == 1);
  CHECK_THAT(watched.process.output(), Contains("for another process"));
  CHECK(state_of(workdir) == "failed");
}

}  // namespace shared_blocks_test
