// SPDX-License-Identifier: Apache-2.0
// Trainings of several tasks and in several stages on a disk that becomes full, at the start and
// during saves: the run reports it, keeps its saved data, and continues when there is space.
#include <cstdint>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/disk/slow_disk.h"

using namespace trivet;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

struct Training {
  const char* config;
  const char* last;  // checkpoint
  std::string words;

  test::ShellResult run(const fs::path& workdir, const std::string& settings = {}) const {
    return test::run(test::config(config), workdir, words + " runtime.threads=1", settings);
  }
  std::string end_of(const fs::path& workdir) const {
    std::string all;
    for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
      all += test::read_file(workdir / "checkpoints" / last / file);
    }
    return all;
  }
};

std::uintmax_t bytes_in(const fs::path& directory) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

}  // namespace

TEST_CASE("on a full disk a training of several tasks, or in stages, keeps all saved data",
          "[slow]") {
  const Training training = GENERATE(
      Training{"vision/multitask.toml", "step_00000060",
               "trainer.train_steps=60 trainer.checkpoint_interval=20 trainer.max_to_keep=0"},
      Training{"vision/progressive.toml", "step_00000090",
               "trainer.train_steps=90 trainer.checkpoint_interval=20 trainer.max_to_keep=0 "
               "trainer.stages[0].steps=30 trainer.stages[1].steps=30"});
  INFO(training.config);
  const test::TempDir temp;
  const fs::path straight = temp / "straight", workdir = temp / "run";
  REQUIRE(training.run(straight).exit_code == 0);
  const auto whole = static_cast<std::int64_t>(bytes_in(straight));
  // All limits are below the run's output: nothing fits, some checkpoints fit, almost all fit.
  int with_checkpoint = 0;
  for (const std::int64_t room : {std::int64_t{100}, whole / 2, whole / 4}) {
    INFO("room for " << room << " bytes");
    const auto failed =
        training.run(workdir, test::SlowDisk{.below = workdir, .room = room}.prefix());
    INFO(failed.output);
    CHECK(failed.exit_code == 1);
    CHECK_THAT(failed.output, Contains("No space left on device") && Contains(workdir.string()));
    if (!fs::exists(workdir / "checkpoints") || fs::is_empty(workdir / "checkpoints")) continue;
    const auto verified = test::trivet("ckpt verify " + test::quoted(workdir.string()));
    INFO(verified.output);
    CHECK(verified.exit_code == 0);
    ++with_checkpoint;
  }
  CHECK(with_checkpoint >= 2);
  const auto again = training.run(workdir);
  INFO(again.output);
  REQUIRE(again.exit_code == 0);
  CHECK(training.end_of(workdir) == training.end_of(straight));
}
