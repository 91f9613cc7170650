// SPDX-License-Identifier: Apache-2.0
// A run on a disk that is slow and fails (support/slow_files.cpp), killed repeatedly: every named
// checkpoint equals that of an uninterrupted run, the last one stays, and the run ends in the same
// bytes.
#include "support/disk/slow_disk.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_manager.h"
#include "program/run/watched_run.h"
#include "support/paths.h"
#include "support/shell.h"
#include "trivet/config/json.h"
#include "trivet/config/value.h"
#include "trivet/os/file.h"

namespace slow_disk_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// Uses all random numbers and all state between steps.
const std::vector<std::string> kCarries = {
    "task.model.dropout=0.2",
    "task.train_input.prefetch=3",
    "task.train_input.augment.crop_padding=2",
    "task.train_input.augment.horizontal_flip=true",
    "trainer.ema.decay=0.99",
    "trainer.gradient_accumulation=4",
    "trainer.checkpoint_async=true",
    "trainer.best_checkpoint.metric=accuracy",
    "trainer.best_checkpoint.keep=2",
    "trainer.learners=[{name=\"last\",variables=[\"output/.*\"],"
    "optimizer={type=\"optim/Lamb\"},learning_rate=0.01}]"};

// The same in three stages, of 900 steps each and another model in the first one.
std::vector<std::string> in_stages() {
  std::vector<std::string> words = {
      "--config_file",
      (source_root() / "configs/vision/progressive.toml").string(),
      "trainer.train_steps=2700",
      "trainer.stages[0].steps=900",
      "trainer.stages[1].steps=900",
      "task.model.hidden_dims=[16,16]",
      "trainer.stages[0].model.hidden_dims=[16]",
  };
  words.insert(words.end(), kCarries.begin(), kCarries.end());
  return words;
}

using Words = std::vector<std::string>;

Words with(Words words, const std::string& more) {
  words.push_back(more);
  return words;
}

std::vector<std::int64_t> steps_in(const fs::path& checkpoints) {
  return CheckpointManager(checkpoints, {}, nullptr).steps();
}

// The files of a checkpoint, after all are verified. The state is without `run`, which contains the
// config: max_to_keep differs.
std::vector<std::string> content_of(const fs::path& checkpoint) {
  const CheckpointDirectoryReader whole(checkpoint);
  std::vector<std::string> content = {std::to_string(whole.step())};
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(checkpoint)) files.insert(entry.path());
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    if (name.ends_with(".safetensors")) content.push_back(name + read_text_file(file));
  }
  const Value state = value_from_json(read_text_file(checkpoint / "state.json"), "state.json");
  for (const Value::Member& member : state.members()) {
    if (member.key != "run") content.push_back(member.key + to_toml(member.value));
  }
  return content;
}

bool is_same(const fs::path& checkpoint, const fs::path& other) {
  return content_of(checkpoint) == content_of(other);
}

// An uninterrupted run with all its checkpoints: those of its interval and of its evaluations,
// since other runs save when an evaluation fails.
struct Example {
  Example(Words more, std::int64_t last_step) : words(std::move(more)), steps(last_step) {
    const Words all = with(with(words, "trainer.max_to_keep=0"), "trainer.checkpoint_interval=50");
    REQUIRE(run_to_end(workdir, 1, nullptr, all) == 0);
    const std::vector<std::int64_t> saved = steps_in(workdir / "checkpoints");
    REQUIRE(std::ssize(saved) >= steps / 250);
    REQUIRE(saved.back() == steps);
  }
  Words words;
  std::int64_t steps;
  TempDir temp;
  fs::path workdir = temp.path() / "run";
};

void check_checkpoints(const fs::path& workdir, const Example& example) {
  for (const std::int64_t step : steps_in(workdir / "checkpoints")) {
    INFO("step " << step);
    CHECK(is_same(checkpoint_of(workdir, step), checkpoint_of(example.workdir, step)));
  }
}

// The last step whose checkpoint is on the disk according to log.jsonl. Every line of log.jsonl is
// complete.
std::int64_t last_promised(const fs::path& workdir) {
  if (!fs::exists(workdir / "log.jsonl")) return 0;
  std::istringstream text(read_text_file(workdir / "log.jsonl"));
  std::int64_t last = 0;
  for (std::string line; std::getline(text, line);) {
    if (text.eof()) break;  // the process was killed during it
    const Value event = value_from_json(line, "log.jsonl");
    if (event.find("event")->as_string() == "checkpoint") last = event.find("step")->as_integer();
  }
  return last;
}

// The results of killed processes on a slow disk that also fails for every second process.
struct Toll {
  int kills = 0, failures = 0, inside_saves = 0;
};

Toll kill_again_and_again(const Example& example, const fs::path& workdir, int processes) {
  const TempDir temp;
  fs::create_directory(workdir);
  std::mt19937_64 random(11);
  Toll toll;
  std::int64_t newest = 0;
  for (int i = 0; i < processes; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    const SlowDisk disk{
        .below = workdir, .seed = seed, .delay = 1500, .fails = seed % 2 == 1 ? 80U : 0U};
    WatchedRun run(workdir, run_words(workdir, 1 + i % 2, example.words), temp.path() / "out",
                   disk.environment());
    // Some are killed while they start, the others after a step; of these every second one during a
    // save.
    bool alive = i % 7 == 0 || run.wait_for_step(i * example.steps / (processes + 1));
    if (i % 2 == 0) alive = alive && run.wait_for_save();
    if (alive) run.wait_for_events(random() % 60);
    run.process.signal(SIGKILL);
    const int code = run.process.wait();
    const std::string output = run.process.output();
    INFO("process " << i << " ended with " << code << "\n" << output);
    if (code == 1) {
      CHECK_THAT(output, Contains("No space left on device") || Contains("Input/output error"));
    } else {
      REQUIRE((code == 128 + SIGKILL || code == 0));
    }
    toll.kills += code == 128 + SIGKILL ? 1 : 0;
    toll.failures += code == 1 ? 1 : 0;
    toll.inside_saves += has_unfinished_checkpoint(workdir) ? 1 : 0;

    check_checkpoints(workdir, example);
    const std::vector<std::int64_t> steps = steps_in(workdir / "checkpoints");
    const std::int64_t last = steps.empty() ? 0 : steps.back();
    CHECK(last >= newest);
    CHECK(last >= last_promised(workdir));
    newest = last;
  }
  return toll;
}

void check_end(const Example& example, const fs::path& workdir) {
  REQUIRE(run_to_end(workdir, 2, nullptr, example.words) == 0);
  check_checkpoints(workdir, example);
  CHECK(steps_in(workdir / "checkpoints").back() == example.steps);
  CHECK(record_values(workdir) == record_values(example.workdir));
  CHECK(read_text_file(workdir / "best/best.json") ==
        read_text_file(example.workdir / "best/best.json"));
  for (const std::int64_t step : steps_in(workdir / "best")) {
    INFO("best step " << step);
    const fs::path name = checkpoint_of("", step).filename();
    CHECK(is_same(workdir / "best" / name, example.workdir / "best" / name));
  }
}

}  // namespace

TEST_CASE("killed at fifty moments on a slow disk that fails, a run never loses its checkpoint",
          "[slow]") {
  const Example example(kCarries, kRunSteps);
  const TempDir temp;
  const fs::path workdir = temp.path() / "run";
  const Toll toll = kill_again_and_again(example, workdir, 50);
  // The number depends on timing, but it is above 0.
  INFO(toll.kills << " kills, " << toll.failures << " failures, " << toll.inside_saves
                  << " inside saves");
  CHECK(toll.kills >= 25);
  CHECK(toll.failures >= 3);
  CHECK(toll.inside_saves >= 10);
  check_end(example, workdir);
}

TEST_CASE("killed on a slow disk that fails, a training in stages loses nothing either", "[slow]") {
  const Example example(in_stages(), 2700);
  const TempDir temp;
  const fs::path workdir = temp.path() / "run";
  const Toll toll = kill_again_and_again(example, workdir, 14);
  INFO(toll.kills << " kills, " << toll.failures << " failures, " << toll.inside_saves
                  << " inside saves");
  CHECK(toll.kills >= 6);  // as above
  CHECK(toll.inside_saves >= 2);
  check_end(example, workdir);
}

}  // namespace slow_disk_test
