// SPDX-License-Identifier: Apache-2.0
// Runs with limited address space (ulimit -v) or threads: they work, or end with a message, and
// never hang.
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/shell.h"

namespace address_space_test {

using namespace trivet::test;
using Catch::Contains;

namespace {

// The time limit: exit code 124 is a run that never ended.
ShellResult limited(const TempDir& temp, const std::string& limit, const std::string& more) {
  return run(config("vision/local.toml"), temp / "run",
             "task.model.hidden_dims=[16] task.train_input.batch_size=32 "
             "task.eval_input.examples=64 trainer.train_steps=20 trainer.checkpoint_interval=5 " +
                 more,
             "timeout --signal=KILL 60 prlimit " + limit + " ");
}

}  // namespace

TEST_CASE("with little address space a run ends with a message", "[slow][nosan]") {
  int failed = 0;
  for (const int mebibytes : {80, 120, 160, 200, 256, 320, 400, 600}) {
    for (const int threads : {1, 2}) {
      INFO(mebibytes << " MiB, " << threads << " threads");
      const TempDir temp;
      const ShellResult result = limited(temp, "--as=" + std::to_string(mebibytes << 20),
                                         "runtime.threads=" + std::to_string(threads));
      INFO(result.output);
      if (result.exit_code == 0) continue;
      ++failed;
      CHECK(result.exit_code == 1);
      CHECK_THAT(result.output, Contains("error:") && Contains("ulimit -v"));
    }
  }
  CHECK(failed > 0);
}

TEST_CASE("the memory of a backend does not grow with threads that wait", "[slow][nosan]") {
  const TempDir temp;
  const ShellResult result =
      limited(temp, "--as=" + std::to_string(400 << 20), "runtime.threads=8");
  INFO(result.output);
  CHECK(result.exit_code == 0);
}

}  // namespace address_space_test
