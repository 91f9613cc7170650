// SPDX-License-Identifier: Apache-2.0
// Runs with unreadable or damaged files: an unreadable file does not count as damaged, a damaged
// one is set aside, and all cases are reported.
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <system_error>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/disk/slow_disk.h"
#include "support/shell.h"

namespace unreadable_test {

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

const std::string kSteps = std::string(kSmallRun) +
                           "trainer.steps_per_loop=10 trainer.checkpoint_interval=20 "
                           "trainer.validation_interval=20 ";

ShellResult train(const fs::path& workdir, int steps, const std::string& more = {},
                  const std::string& settings = {}) {
  return run(config("vision/local.toml"), workdir,
             kSteps + "trainer.train_steps=" + std::to_string(steps) + " " + more, settings);
}

// Every file below with its inode: a replaced file has another inode.
std::set<std::string> files_below(const fs::path& directory) {
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    struct stat about = {};
    REQUIRE(::stat(entry.path().c_str(), &about) == 0);
    files.insert(entry.path().string() + " " + std::to_string(about.st_ino));
  }
  return files;
}

// A run to step 60 with checkpoints of 20, 40 and 60, made once.
const fs::path& trained() {
  static const TempDir temp;
  static const fs::path workdir = [] {
    REQUIRE(train(temp / "trained", 60).exit_code == 0);
    return temp / "trained";
  }();
  return workdir;
}

fs::path copy_of_trained(const TempDir& temp, const std::string& name = "run") {
  fs::copy(trained(), temp / name, fs::copy_options::recursive);
  return temp / name;
}

void write_file(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::trunc) << text;
}

}  // namespace

TEST_CASE("a checkpoint that cannot be read at first is tried again", "[slow][nosan]") {
  const TempDir temp;
  const fs::path workdir = copy_of_trained(temp);
  const SlowDisk disk{.below = checkpoint_of(workdir, 60), .read_error = ESTALE, .read_fails = 2};
  const auto again = train(workdir, 80, "", disk.prefix());
  INFO(again.output);
  CHECK(again.exit_code == 0);
  CHECK_THAT(again.output, Contains("continue step=60"));
}

TEST_CASE("an unreadable checkpoint stops the run, and nothing is changed", "[slow][nosan]") {
  const TempDir temp;
  for (const int reason : {EIO, ESTALE, EMFILE, ENFILE, ENOMEM, EACCES}) {
    const fs::path workdir = copy_of_trained(temp, "run" + std::to_string(reason));
    const auto before = files_below(workdir / "checkpoints");
    const std::string metrics = read_file(workdir / "metrics.jsonl");
    const SlowDisk disk{.below = checkpoint_of(workdir, 60) / "model.safetensors",
                        .read_error = reason,
                        .read_fails = 1000};
    // Both cases run at once, because each has to wait for its retries.
    const bool evaluates = reason == EIO || reason == EMFILE;
    const auto failed = train(workdir, 80, evaluates ? "mode=eval" : "", disk.prefix());
    INFO(failed.output);
    CHECK(failed.exit_code == 1);
    CHECK_THAT(failed.output, Contains(std::generic_category().message(reason)) &&
                                  Contains("model.safetensors") &&
                                  Contains("the checkpoint may be intact"));
    CHECK(files_below(workdir / "checkpoints") == before);
    CHECK(read_file(workdir / "metrics.jsonl") == metrics);
    if (reason != EIO) continue;
    const auto again = train(workdir, 80);
    CHECK_THAT(again.output, Contains("continue step=60"));
    CHECK(read_file(workdir / "metrics.jsonl").starts_with(metrics));
  }
}

TEST_CASE("a damaged checkpoint is set aside, not replaced", "[slow][nosan]") {
  const TempDir temp;
  const fs::path workdir = copy_of_trained(temp);
  fs::resize_file(checkpoint_of(workdir, 60) / "model.safetensors", 100);
  const auto again = train(workdir, 60);
  INFO(again.output);
  CHECK(again.exit_code == 0);
  CHECK_THAT(again.output,
             Contains("has 100 bytes instead of") && Contains("damaged_step_00000060"));
  CHECK(fs::file_size(workdir / "checkpoints" / "damaged_step_00000060" / "model.safetensors") ==
        100);
  CHECK(record_values(workdir) == record_values(trained()));
}

TEST_CASE("a rejected command does not change a run, including damaged checkpoints and status",
          "[slow][nosan]") {
  const TempDir temp;
  const fs::path workdir = copy_of_trained(temp);
  fs::resize_file(checkpoint_of(workdir, 60) / "model.safetensors", 100);
  const auto before = files_below(workdir / "checkpoints");
  std::map<std::string, std::string> texts;
  for (const char* file : {"config.toml", "metrics.jsonl", "status.json", "log.jsonl"}) {
    texts[file] = read_file(workdir / file);
  }
  const std::string gone = (temp / "gone.safetensors").string();
  for (const std::string& words : {
           std::string("task.model.hidden_dims=[8]"),
           "task.train_input.type=data/Idx task.train_input.images=" + gone +
               " task.train_input.labels=" + gone,
       }) {
    const auto refused = train(workdir, 80, words);
    INFO(refused.output);
    CHECK(refused.exit_code == 2);
    CHECK(files_below(workdir / "checkpoints") == before);
    for (const auto& [file, text] : texts) CHECK(read_file(workdir / file) == text);
  }
}

TEST_CASE("an evaluation stops at a damaged checkpoint unless another one is requested",
          "[slow][nosan]") {
  const TempDir temp;
  const fs::path workdir = copy_of_trained(temp);
  fs::resize_file(checkpoint_of(workdir, 60) / "model.safetensors", 100);
  const auto before = files_below(workdir / "checkpoints");
  const std::string metrics = read_file(workdir / "metrics.jsonl");
  const auto stopped = train(workdir, 60, "mode=eval");
  INFO(stopped.output);
  CHECK(stopped.exit_code == 1);
  CHECK_THAT(stopped.output, Contains("has 100 bytes instead of") && Contains("--step N"));
  const auto asked = train(workdir, 60, "mode=eval --step 40");
  INFO(asked.output);
  CHECK(asked.exit_code == 0);
  CHECK_THAT(asked.output, Contains("eval step=40"));
  CHECK(files_below(workdir / "checkpoints") == before);
  CHECK(read_file(workdir / "metrics.jsonl").starts_with(metrics));

  CHECK_THAT(train(workdir, 60, "mode=eval --step 30").output,
             Contains("the run has checkpoints for the steps 20, 40"));
  CHECK(train(workdir, 60, "--step 40").exit_code == 2);
  CHECK(train(workdir, 60, "mode=eval --step x").exit_code == 2);
}

TEST_CASE("a damaged config.toml is reported, and the run continues with its checkpoints' config",
          "[slow]") {
  struct Damage {
    const char *text, *message;
  };
  const std::string differs = "config.toml differs from the config of the run's checkpoints";
  const Damage damages[] = {{"", differs.c_str()},
                            {"[trainer", "config.toml is damaged: "},
                            {"[task]\ntype = \"other/Task\"\n", differs.c_str()}};
  for (const auto& [text, message] : damages) {
    const TempDir temp;
    const fs::path workdir = copy_of_trained(temp);
    write_file(workdir / "config.toml", text);
    const auto again = train(workdir, 80);
    INFO(again.output);
    CHECK(again.exit_code == 0);
    CHECK_THAT(again.output, Contains(message) &&
                                 Contains("; using the config in the newest checkpoint") &&
                                 Contains("continue step=60"));
    CHECK(read_file(workdir / "config.toml").size() > 500);
    CHECK_THAT(train(workdir, 80).output, !Contains("; using the config in the newest checkpoint"));
  }
}

TEST_CASE("another model is rejected even if config.toml is lost", "[slow]") {
  const TempDir temp;
  const fs::path workdir = copy_of_trained(temp);
  const auto refuse = [&] {
    const auto other = train(workdir, 80, "task.model.hidden_dims=[8]");
    INFO(other.output);
    CHECK(other.exit_code == 2);
    CHECK_THAT(other.output, Contains("checkpoints of another task or model") &&
                                 Contains("task.model.hidden_dims"));
  };
  refuse();
  write_file(workdir / "config.toml", "");
  refuse();
  fs::remove(workdir / "config.toml");
  refuse();
  fs::create_symlink("config.toml", workdir / "config.toml");
  const auto loop = train(workdir, 80);
  CHECK(loop.exit_code == 1);
  CHECK_THAT(loop.output, Contains("config.toml: Too many levels of symbolic links"));
}

TEST_CASE("config.toml is on the disk before the first checkpoint", "[slow][nosan]") {
  const TempDir temp;
  // The first fsync of this file fails; there is only one.
  const SlowDisk disk{.below = temp / "run" / "config.toml", .seed = 1, .fails = 1};
  const auto failed = train(temp / "run", 20, "", disk.prefix());
  INFO(failed.output);
  CHECK(failed.exit_code == 1);
  CHECK_THAT(failed.output, Contains("config.toml"));
  CHECK_FALSE(fs::exists(temp / "run" / "checkpoints"));
}

TEST_CASE("a run whose metrics.jsonl has lost records reports it when it continues", "[slow]") {
  const std::string whole = read_file(trained() / "metrics.jsonl");
  std::string flipped = whole;
  flipped[flipped.find("training_loss") + 16] ^= 1;
  for (const std::string& text : {std::string(), whole.substr(0, whole.size() / 2), flipped}) {
    const TempDir temp;
    const fs::path workdir = copy_of_trained(temp);
    write_file(workdir / "metrics.jsonl", text);
    const auto again = train(workdir, 80);
    INFO(again.output);
    CHECK(again.exit_code == 0);
    CHECK_THAT(again.output, Contains("warning:") && Contains("metrics.jsonl") &&
                                 Contains("the missing ones are lost"));
  }
  const TempDir temp;
  const auto plain = train(copy_of_trained(temp), 80);
  CHECK_THAT(plain.output, !Contains("are lost"));
}

TEST_CASE("a run that was killed before its summary writes it after a restart", "[slow][nosan]") {
  const TempDir temp;
  const fs::path workdir = copy_of_trained(temp);
  const auto whole = json_of(workdir / "summary.json");
  fs::remove(workdir / "summary.json");
  write_file(workdir / "summary.json.tmp", "{");
  REQUIRE(train(workdir, 60).exit_code == 0);
  const auto again = json_of(workdir / "summary.json");
  for (const char* key : {"train", "eval", "eval_step", "step"}) {
    CHECK(again.at(key) == whole.at(key));
  }
  CHECK_FALSE(fs::exists(workdir / "summary.json.tmp"));
}

TEST_CASE("the next start removes the leftovers of a killed process", "[slow]") {
  const TempDir temp;
  const fs::path workdir = copy_of_trained(temp);
  write_file(workdir / "summary.json.tmp", "{");
  REQUIRE(train(workdir, 60).exit_code == 0);
  CHECK_FALSE(fs::exists(workdir / "summary.json.tmp"));
}

TEST_CASE("the best checkpoints are known even if best.json is damaged or missing", "[slow]") {
  const std::string best =
      "trainer.best_checkpoint.metric=accuracy trainer.best_checkpoint.goal=max "
      "trainer.best_checkpoint.keep=2";
  const TempDir temp;
  REQUIRE(train(temp / "whole", 80, best).exit_code == 0);
  REQUIRE(json_of(temp / "whole" / "best" / "best.json").at("checkpoints").size() == 2);
  fs::copy(temp / "whole", temp / "alone", fs::copy_options::recursive);
  REQUIRE(train(temp / "alone", 100, best).exit_code == 0);
  const auto undisturbed = json_of(temp / "alone" / "best" / "best.json").at("checkpoints");
  const std::string text = read_file(temp / "whole" / "best" / "best.json");
  for (const std::string& damaged : {std::string(), text.substr(0, 30), std::string("{}")}) {
    const fs::path workdir = temp / ("run" + std::to_string(damaged.size()));
    fs::copy(temp / "whole", workdir, fs::copy_options::recursive);
    write_file(workdir / "best" / "best.json", damaged);
    if (damaged.empty()) fs::remove(workdir / "best" / "best.json");
    // Also a run with nothing to train writes the record again.
    const auto again = train(workdir, 80, best);
    INFO(again.output);
    CHECK(again.exit_code == 0);
    CHECK(read_file(workdir / "best" / "best.json") == text);
    CHECK_THAT(again.output,
               Contains("best.json") && Contains("2 best checkpoints found by their manifests"));
    CHECK(trivet::test::trivet("ckpt verify " + quoted(workdir.string())).exit_code == 0);
    REQUIRE(train(workdir, 100, best).exit_code == 0);
    // The result of an undisturbed run.
    CHECK(json_of(workdir / "best" / "best.json").at("checkpoints") == undisturbed);
  }
}

TEST_CASE("ckpt verify finds the damage that a resume would find", "[slow]") {
  const TempDir temp;
  const fs::path workdir = copy_of_trained(temp);
  const auto verdict = [&] {
    return trivet::test::trivet("ckpt verify " + quoted(workdir.string()));
  };
  REQUIRE(verdict().exit_code == 0);
  const fs::path last = checkpoint_of(workdir, 60);
  const std::string manifest = read_file(last / "manifest.json");
  const auto check_manifest = [&](const std::string& from, const std::string& to,
                                  const std::string& reason) {
    std::string changed = manifest;
    const std::size_t at = changed.find(from);
    REQUIRE(at != std::string::npos);
    changed.replace(at, from.size(), to);
    write_file(last / "manifest.json", changed);
    const auto found = verdict();
    INFO(found.output);
    CHECK(found.exit_code == 1);
    CHECK_THAT(found.output, Contains(reason));
    write_file(last / "manifest.json", manifest);
  };
  check_manifest("\"step\": 60", "\"step\": 40", "it contains step 40");
  check_manifest("\"step\": 60", "\"step\": -1", "has the step -1");
  check_manifest("\"optimizer.safetensors\"", "\"state.json\"", "bytes instead of");
  fs::copy(last / "model.safetensors", last / "more.safetensors");
  CHECK_THAT(verdict().output, Contains("does not name more.safetensors"));
  fs::remove(last / "more.safetensors");

  fs::rename(last, workdir / "aside");
  fs::rename(checkpoint_of(workdir, 40), last);
  CHECK_THAT(verdict().output, Contains("it contains step 40"));
  fs::remove_all(last);
  fs::rename(workdir / "aside", last);
  CHECK(verdict().exit_code == 0);

  // A pipe with this name is damage; opening it must not block.
  fs::remove(last / "model.safetensors");
  REQUIRE(::mkfifo((last / "model.safetensors").c_str(), 0600) == 0);
  CHECK_THAT(verdict().output, Contains("is not a file"));
}

}  // namespace unreadable_test
