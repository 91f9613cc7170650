// SPDX-License-Identifier: Apache-2.0
// trivet/train/run.h: runs inside other programs equal those of `trivet run`.
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/paths.h"
#include "support/shell.h"

namespace embedded_run_test {

namespace test = trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

std::string example() {
  return test::quoted((test::build_root() / "runtime/embedded-run").string());
}

}  // namespace

TEST_CASE("the example of an embedded run trains to the bytes of trivet run") {
  const test::TempDir temp;
  const fs::path config = test::config("vision/local.toml");
  const auto embedded = test::shell(example() + " " + test::quoted(config.string()) + " " +
                                    test::quoted((temp / "embedded").string()));
  INFO(embedded.output);
  REQUIRE(embedded.exit_code == 0);
  const auto run = test::run(config, temp / "run", "trainer.train_steps=100");
  REQUIRE(run.exit_code == 0);
  CHECK(test::read_file(temp / "embedded/checkpoints/step_00000100/model.safetensors") ==
        test::read_file(temp / "run/checkpoints/step_00000100/model.safetensors"));
  const auto values = test::records(temp / "run", "eval").back().at("values");
  CHECK(test::records(temp / "embedded", "eval").back().at("values") == values);
  CHECK_THAT(embedded.output, Contains("\nstep=100/100 loss="));
  CHECK_THAT(embedded.output, Contains("eval step=100 validation_loss="));
  CHECK_THAT(embedded.output, Contains((temp / "embedded").string() + ": validation_loss "));
}

TEST_CASE("a program runs what it has built, several times, and hears of its mistakes") {
  const test::TempDir temp;
  const auto result = test::shell(test::quoted((test::build_root() / "test/embedding").string()) +
                                  " " + test::quoted((temp / "runs").string()));
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("first: code 0, 1 evaluations, step 20, 1-built\n"));
  CHECK_THAT(result.output, Contains("continued: code 0, 1 evaluations, step 30, 1-built\n"));
  CHECK_THAT(result.output, Contains("wrong: ConfigError") && Contains("trainer.steps"));
  CHECK_THAT(result.output, Contains("both: UsageError a run needs either"));
  CHECK_THAT(result.output, Contains("none: UsageError a run needs either"));
  CHECK_FALSE(fs::exists(temp / "runs/2-built"));
  CHECK_THAT(test::read_file(temp / "runs/1-built/config.toml"), Contains("train_steps = 30"));
}

TEST_CASE("an embedded run saves at a signal", "[slow]") {
  const test::TempDir temp;
  const fs::path config =
      temp.write("slow.toml", "base = ['" + test::config("vision/local.toml").string() +
                                  "']\n[task.train_input]\nbatch_size = 4096\n"
                                  "[task.model]\nhidden_dims = [2048, 2048]\n"
                                  "[trainer]\nsteps_per_loop = 1\n");
  // A run that is stopped before its first step has nothing to save.
  const std::string metrics = test::quoted((temp / "run/metrics.jsonl").string());
  const auto result = test::shell(
      example() + " " + test::quoted(config.string()) + " " +
      test::quoted((temp / "run").string()) + " & while kill -0 $! && ! grep -q train " + metrics +
      " 2>/dev/null; do sleep 0.05; done; kill -TERM $!; wait $!; echo code $?");
  INFO(result.output);
  CHECK_THAT(result.output, Contains("code 75"));
  CHECK_THAT(test::read_file(temp / "run/status.json"), Contains("preempted"));
  CHECK(fs::exists(temp / "run/checkpoints"));
}

}  // namespace embedded_run_test
