// SPDX-License-Identifier: Apache-2.0
// Training in stages through the real program: killed in each of them, and always continued to the
// same bytes.
#include <signal.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "run_fixture.h"
#include "support/paths.h"
#include "support/shell.h"
#include "watched_run.h"

namespace progressive_test {

using namespace trivet;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kStage = 1500, kSteps = 3 * kStage;

// Stages long enough that a process can be caught in each of them.
std::vector<std::string> words(const fs::path& workdir) {
  const std::string steps = std::to_string(kStage);
  return {test::program().string(),
          "run",
          test::config("vision/progressive.toml").string(),
          "--workdir",
          workdir.string(),
          "trainer.train_steps=" + std::to_string(kSteps),
          "trainer.stages[0].steps=" + steps,
          "trainer.stages[1].steps=" + steps,
          "trainer.steps_per_loop=17",
          "trainer.validation_interval=700",
          "trainer.checkpoint_interval=200",
          "trainer.ema.decay=0.99",
          "task.train_input.batch_size=16",
          "task.eval_input.examples=64",
          "runtime.threads=1"};
}

// Kills the run once the metrics of `step` or a later step are recorded. Returns the exit code.
int killed_at(const fs::path& workdir, std::int64_t step) {
  const test::TempDir log;
  test::WatchedRun run(workdir, words(workdir), log / "out");
  run.wait_for_step(step);
  run.process.signal(SIGKILL);
  return run.process.wait();
}

void run_to_end(const fs::path& workdir) {
  const test::TempDir log;
  test::Process process(words(workdir), log / "out");
  const int code = process.wait();
  INFO(process.output());
  REQUIRE(code == 0);
}

std::string end_of(const fs::path& workdir, const char* file) {
  return test::read_file(test::checkpoint_of(workdir, kSteps) / file);
}

}  // namespace

TEST_CASE("the progressive config goes through its stages and learns") {
  const test::TempDir temp;
  const auto result = test::run(test::config("vision/progressive.toml"), temp / "run");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(
      result.output,
      Contains("stage 2 of 3 (deep): 4 of 6 variables from stage 1 of 3 (shallow); 2 missing"));
  CHECK_THAT(result.output, Contains("stage 3 of 3 (settle): 6 of 6 variables"));
  CHECK(test::records(temp / "run", "eval").back().at("values").at("accuracy") > 0.95);
  const auto evaluated =
      test::run(test::config("vision/progressive.toml"), temp / "run", "--mode eval");
  INFO(evaluated.output);
  CHECK(evaluated.exit_code == 0);
  CHECK_THAT(evaluated.output, Contains("stage 3 of 3 (settle)"));
}

TEST_CASE("a run killed in each of its stages ends in the same bytes", "[slow]") {
  const test::TempDir temp;
  const fs::path straight = temp / "straight", killed = temp / "killed";
  run_to_end(straight);
  int kills = 0;
  for (std::int64_t stage = 0; stage < 3; ++stage) {
    for (const std::int64_t step : {std::int64_t{17}, kStage / 2, kStage - 40}) {
      kills += killed_at(killed, stage * kStage + step) == 128 + 9 ? 1 : 0;
    }
  }
  CHECK(kills >= 7);  // if this test is slow, the run may be further
  run_to_end(killed);
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "ema.safetensors"}) {
    INFO(file);
    CHECK(end_of(killed, file) == end_of(straight, file));
  }
  CHECK(test::record_values(killed) == test::record_values(straight));
}

TEST_CASE("stages of another form are rejected in the directory of a run, longer ones are not") {
  const test::TempDir temp;
  const auto run = [&](const std::string& more) {
    return test::run(test::config("vision/progressive.toml"), temp / "run", more);
  };
  REQUIRE(run("trainer.train_steps=20").exit_code == 0);
  const auto refused = run("trainer.train_steps=40 trainer.stages[0].model.hidden_dims=[16]");
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output, Contains("trainer.stages[0].model.hidden_dims"));
  const auto longer = run("trainer.train_steps=40 trainer.stages[0].steps=30");
  INFO(longer.output);
  CHECK(longer.exit_code == 0);
  CHECK_THAT(longer.output, Contains("trainer.stages[0].steps: 100 -> 30") && Contains("(deep)"));
}

}  // namespace progressive_test
