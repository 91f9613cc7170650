// SPDX-License-Identifier: Apache-2.0
// A run killed at each of its file calls, one run per call: while it goes back to a checkpoint, and
// while it reopens its records. It always continues like an uninterrupted run.
#include <signal.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/disk/slow_disk.h"
#include "support/shell.h"

using namespace trivet;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

const std::string kSteps = std::string(test::kSmallRun) +
                           "trainer.train_steps=60 trainer.steps_per_loop=1 "
                           "trainer.checkpoint_interval=20 ";

// Results that must not depend on kills.
std::string outcome(const fs::path& workdir) {
  const fs::path last = test::checkpoint_of(workdir, 60);
  return test::read_file(last / "model.safetensors") +
         test::read_file(last / "optimizer.safetensors") + test::record_values(workdir);
}

std::set<std::string> names_in(const fs::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

}  // namespace

TEST_CASE("a run killed at any file read of a recovery continues like an uninterrupted run",
          "[slow]") {
  const test::TempDir temp;
  const auto config = test::config("vision/local.toml");
  REQUIRE(test::run(config, temp / "plain", kSteps).exit_code == 0);
  const std::string recovers = kSteps + test::one_bad_step(temp / "plain", 45);
  const auto alone = test::run(config, temp / "alone", recovers);
  INFO(alone.output);
  REQUIRE(alone.exit_code == 0);
  REQUIRE_THAT(alone.output, Contains("back to step 40"));
  // The call that renames the checkpoint, then the calls of a recovery that open and read the
  // manifest and the three files that it lists.
  for (std::uint64_t call = 1; call <= 8; ++call) {
    INFO("call " << call);
    const fs::path workdir = temp / ("killed_" + std::to_string(call));
    const test::SlowDisk disk{.below = test::checkpoint_of(workdir, 40), .kill = call};
    REQUIRE(test::run(config, workdir, recovers, disk.prefix()).exit_code == 128 + SIGKILL);
    const auto again = test::run(config, workdir, recovers);
    INFO(again.output);
    REQUIRE(again.exit_code == 0);
    CHECK_THAT(again.output, Contains("back to step"));
    CHECK(outcome(workdir) == outcome(temp / "alone"));
  }
}

TEST_CASE("a run killed at any call that reopens its records loses none of them", "[slow]") {
  const test::TempDir temp;
  const auto config = test::config("vision/local.toml");
  const std::string steps = kSteps +
                            "trainer.steps_per_loop=10 trainer.validation_interval=20 "
                            "trainer.checkpoint_async=false ";
  REQUIRE(test::run(config, temp / "alone", steps).exit_code == 0);
  // When the checkpoint of step 40 is renamed, the records from 30 on are stale. They cannot be
  // truncated, because a line after them must stay.
  const fs::path left = temp / "left";
  const test::SlowDisk first{.below = test::checkpoint_of(left, 40), .kill = 1};
  REQUIRE(test::run(config, left, steps, first.prefix()).exit_code == 128 + SIGKILL);
  REQUIRE(test::last_step(left) == 40);
  const std::string note = "{\"kind\":\"note\",\"text\":\"a plugin's\"}\n";
  std::ofstream(left / "metrics.jsonl", std::ios::app) << note;
  // The file is opened, rewritten to a temporary file, synced, renamed and opened again; later
  // writes append.
  for (std::uint64_t call = 1; call <= 8; ++call) {
    INFO("call " << call);
    const fs::path workdir = temp / ("killed_" + std::to_string(call));
    fs::copy(left, workdir, fs::copy_options::recursive);
    const test::SlowDisk disk{.below = workdir / "metrics.jsonl", .kill = call};
    REQUIRE(test::run(config, workdir, steps, disk.prefix()).exit_code == 128 + SIGKILL);
    const auto again = test::run(config, workdir, steps);
    INFO(again.output);
    REQUIRE(again.exit_code == 0);
    for (const char* kind : {"train", "eval"}) {
      const auto records = test::records(workdir, kind),
                 alone = test::records(temp / "alone", kind);
      REQUIRE(records.size() == alone.size());
      for (std::size_t i = 0; i < records.size(); ++i) {
        CHECK(records[i].at("step") == alone[i].at("step"));
        CHECK(records[i].at("values") == alone[i].at("values"));
      }
    }
    CHECK_THAT(test::read_file(workdir / "metrics.jsonl"), Contains(note));
    CHECK(names_in(workdir) == names_in(temp / "alone"));
  }
}
