// SPDX-License-Identifier: Apache-2.0
// The directory of a run: its lock, its state for a second run, and its files.
#include <signal.h>

#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "checkpoint/checkpoint_manager.h"
#include "support/paths.h"
#include "support/shell.h"
#include "trivet/config/json.h"
#include "trivet/config/value.h"
#include "trivet/os/file.h"
#include "watched_run.h"

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

TEST_CASE("a second process in the same directory is refused") {
  TempDir temp;
  const fs::path workdir = temp.path() / "run";
  WatchedRun first(workdir, run_words(workdir, 1), temp.path() / "first");
  REQUIRE(first.wait_for_step(17));
  first.process.signal(SIGSTOP);  // so that it cannot end before the second one checks
  Process second(run_words(workdir, 1), temp.path() / "second");
  CHECK(second.wait() == 1);
  CHECK_THAT(second.output(), Contains("in use by process " + std::to_string(first.process.pid())));
}

TEST_CASE("a finished run is unchanged, can be evaluated and can be extended") {
  TempDir temp;
  const fs::path workdir = temp.path() / "run";
  const std::vector<std::string> shorter = {"trainer.train_steps=500"};
  REQUIRE(run_to_end(workdir, 1, nullptr, shorter) == 0);
  const std::string before = read_text_file(workdir / "metrics.jsonl");
  std::string output;
  CHECK(run_to_end(workdir, 1, &output, shorter) == 0);
  CHECK_THAT(output, Contains("nothing to train"));
  CHECK(run_to_end(workdir, 1, &output, {"trainer.train_steps=500", "--mode", "eval"}) == 0);
  CHECK_THAT(output, Contains("eval step=500 validation_loss="));
  CHECK(read_text_file(workdir / "metrics.jsonl") == before);
  CHECK(run_to_end(workdir, 1, &output, {"trainer.train_steps=600"}) == 0);
  CHECK_THAT(output, Contains("trainer.train_steps: 500 -> 600"));
  CHECK(last_step(workdir) == 600);
}

TEST_CASE("another model in the directory of a run is rejected with the difference") {
  TempDir temp;
  const fs::path workdir = temp.path() / "run";
  REQUIRE(run_to_end(workdir, 1, nullptr, {"trainer.train_steps=20"}) == 0);
  const std::string config = read_text_file(workdir / "config.toml");
  std::string output;
  CHECK(run_to_end(workdir, 1, &output, {"task.model.hidden_dims=[8]"}) == 2);
  CHECK_THAT(output, Contains("task.model.hidden_dims") && Contains("[16] -> [8]"));
  CHECK(read_text_file(workdir / "config.toml") == config);
}

TEST_CASE("a run that was started before a field existed continues") {
  TempDir temp;
  const fs::path workdir = temp.path() / "run", file = workdir / "config.toml";
  REQUIRE(run_to_end(workdir, 1, nullptr, {"trainer.train_steps=400"}) == 0);
  std::string text = read_text_file(file);
  const std::size_t line = text.find("label_smoothing = ");
  REQUIRE(line != std::string::npos);
  text.erase(line, text.find('\n', line) + 1 - line);
  replace_file(file, text, Durability::cached);
  std::string output;
  CHECK(run_to_end(workdir, 1, &output, {"trainer.train_steps=500"}) == 0);
  CHECK_THAT(output, !Contains("label_smoothing"));
  CHECK(last_step(workdir) == 500);

  // Values other than defaults were chosen and are reported.
  replace_file(file, text, Durability::cached);
  CHECK(run_to_end(workdir, 1, &output, {"trainer.train_steps=500", "task.label_smoothing=0.1"}) ==
        0);
  CHECK_THAT(output, Contains("task.label_smoothing: (not set) -> 0.1"));
}

TEST_CASE("the resolved config of a run gives the same run") {
  TempDir temp;
  const fs::path first = temp.path() / "first", second = temp.path() / "second";
  REQUIRE(run_to_end(first, 1, nullptr, {"trainer.train_steps=40"}) == 0);
  const auto again =
      shell(quoted(program().string()) + " run " + quoted((first / "config.toml").string()) +
            " --workdir " + quoted(second.string()));
  INFO(again.output);
  REQUIRE(again.exit_code == 0);
  CHECK(record_values(first) == record_values(second));
}

TEST_CASE("an error keeps its exit code if its message cannot be written") {
  const auto result = shell(quoted(program().string()) + " runn 2>/dev/full");
  CHECK(result.exit_code == 2);
}

TEST_CASE("a read-only directory is an error that names it") {
  std::string output;
  TempDir temp;
  fs::path workdir = "/proc/trivet-run";  // where even root cannot create directories
  Process child(run_words(workdir, 1), temp.path() / "out");
  CHECK(child.wait() == 1);
  CHECK_THAT(child.output(), Contains("/proc/trivet-run"));
}

TEST_CASE("summary.json has the figures that the benchmark reads") {
  TempDir temp;
  const fs::path workdir = temp.path() / "run";
  REQUIRE(run_to_end(workdir, 1, nullptr, {"trainer.train_steps=200"}) == 0);
  const Value summary = value_from_json(read_text_file(workdir / "summary.json"), "summary.json");
  for (const char* name :
       {"examples_per_second", "examples_per_cpu_second", "first_step_seconds", "peak_rss_bytes"}) {
    INFO(name);
    CHECK(summary.find(name)->as_float() > 0);
  }
  CHECK(summary.find("backend_allocations_per_step")->as_float() == 0);
  CHECK(summary.find("state")->as_string() == "done");
  CHECK(summary.find_path("eval.validation_loss")->as_float() > 0);
}

TEST_CASE("a checkpoint interval of time saves when it has passed, and at the end") {
  TempDir temp;
  const auto steps_saved = [&](const std::string& interval) {
    const fs::path workdir = temp.path() / interval;
    REQUIRE(run_to_end(workdir, 1, nullptr,
                       {"trainer.train_steps=20", "trainer.max_to_keep=0",
                        "trainer.checkpoint_interval=" + interval}) == 0);
    return CheckpointManager(workdir / "checkpoints", {}, nullptr).steps();
  };
  // Shorter than a step, and longer than the run.
  std::vector<std::int64_t> all(20);
  std::iota(all.begin(), all.end(), 1);
  CHECK(steps_saved("1us") == all);
  CHECK(steps_saved("10h") == std::vector<std::int64_t>{20});
  std::string output;
  CHECK(run_to_end(temp.path() / "wrong", 1, &output, {"trainer.checkpoint_interval=10y"}) == 2);
  CHECK_THAT(output, Contains("trainer.checkpoint_interval") && Contains("command line:"));
}
