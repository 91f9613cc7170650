// SPDX-License-Identifier: Apache-2.0
// A run through the real program: killed, stopped, out of disk, and always continued to the same
// bytes.
#include <signal.h>
#include <sys/mount.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/shell.h"
#include "trivet/config/json.h"
#include "trivet/config/value.h"
#include "trivet/os/file.h"
#include "watched_run.h"

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

TEST_CASE("a run killed at twenty moments ends in the bytes of an uninterrupted one", "[slow]") {
  for (const int threads : {1, 2}) {
    INFO(threads << " threads");
    TempDir temp;
    const fs::path workdir = temp.path() / "run";
    std::mt19937 random(static_cast<unsigned>(threads));
    int kills = 0, inside_saves = 0;
    for (int i = 0; i < 20; ++i) {
      WatchedRun run(workdir, run_words(workdir, threads), temp.path() / "out");
      // Some are killed while they start, the others after a step; of these every second one at a
      // random point of the next save.
      bool alive = i % 5 == 0 || run.wait_for_step(i * kRunSteps / 21);
      if (i % 5 != 0 && i % 2 == 0) alive = alive && run.wait_for_save();
      alive = alive && run.wait_for_events(random() % 12);
      run.process.signal(SIGKILL);
      const int code = run.process.wait();
      INFO(run.process.output());
      REQUIRE((code == 128 + SIGKILL || (code == 0 && !alive)));
      kills += code == 128 + SIGKILL ? 1 : 0;
      inside_saves += has_unfinished_checkpoint(workdir) ? 1 : 0;
    }
    CHECK(kills >= 15);  // if this test is slow, a run may end before it is killed
    CHECK(inside_saves > 0);
    REQUIRE(run_to_end(workdir, threads) == 0);
    check_undisturbed(result_of(workdir));
    CHECK(state_of(workdir) == "done");
  }
}

TEST_CASE("averages, accumulated gradients and several optimizers survive kills in the same bytes",
          "[slow]") {
  const std::vector<std::string> more = {
      "trainer.ema.decay=0.99", "trainer.gradient_accumulation=4",
      "trainer.frozen=[\"hidden_0/b\"]", "trainer.recovery_max_trials=3",
      "trainer.learners=[{name=\"last\",variables=[\"output/.*\"],"
      "optimizer={type=\"optim/Lamb\"},learning_rate=0.01}]"};
  TempDir temp;
  const fs::path straight = temp.path() / "straight", killed = temp.path() / "killed";
  REQUIRE(run_to_end(straight, 1, nullptr, more) == 0);
  std::mt19937 random(5);
  int kills = 0;
  for (int i = 1; i <= 4; ++i) {
    WatchedRun run(killed, run_words(killed, 1, more), temp.path() / "out");
    bool alive = run.wait_for_step(i * kRunSteps / 5);
    alive = alive && run.wait_for_events(random() % 12);
    run.process.signal(SIGKILL);
    kills += run.process.wait() == 128 + SIGKILL ? 1 : 0;
  }
  CHECK(kills >= 2);  // as above
  REQUIRE(run_to_end(killed, 2, nullptr, more) == 0);
  const RunResult expected = result_of(straight), result = result_of(killed);
  CHECK(result.model == expected.model);
  CHECK(result.optimizer == expected.optimizer);
  CHECK(result.records == expected.records);
  const std::string averages = "checkpoints/step_00008000/ema.safetensors";
  CHECK(read_text_file(killed / averages) == read_text_file(straight / averages));
  CHECK(read_text_file(killed / averages) != expected.model);
}

TEST_CASE("an uninterrupted run gives the same bytes with two threads", "[slow]") {
  TempDir temp;
  REQUIRE(run_to_end(temp.path() / "run", 2) == 0);
  check_undisturbed(result_of(temp.path() / "run"));
}

TEST_CASE("SIGTERM saves and exits 75, SIGINT 130, and the run continues from that step",
          "[slow]") {
  TempDir temp;
  const fs::path workdir = temp.path() / "run";
  struct Stop {
    int signal, code;
    const char* state;
    std::int64_t step;
  };
  for (const Stop& stop : {Stop{SIGTERM, 75, "preempted", kRunSteps / 5},
                           Stop{SIGINT, 130, "interrupted", 2 * kRunSteps / 5},
                           Stop{SIGUSR1, 75, "preempted", 3 * kRunSteps / 5}}) {
    WatchedRun run(workdir, run_words(workdir, 1), temp.path() / "out");
    REQUIRE(run.wait_for_step(stop.step));
    run.process.signal(stop.signal);
    REQUIRE(run.process.wait() == stop.code);
    CHECK(state_of(workdir) == stop.state);
    CHECK_THAT(run.process.output(), Contains("continue with --workdir"));
    const Value status = value_from_json(read_text_file(workdir / "status.json"), "status");
    const auto step = status.find("step")->as_integer();
    CHECK(fs::exists(checkpoint_of(workdir, step)));
  }
  REQUIRE(run_to_end(workdir, 1) == 0);
  check_undisturbed(result_of(workdir));
  const Value status = value_from_json(read_text_file(workdir / "status.json"), "status");
  CHECK(status.find("attempt")->as_integer() == 4);
}

TEST_CASE("a full disk ends the run with its name, and the run continues when there is space",
          "[slow]") {
  TempDir temp;
  const fs::path disk = temp.path() / "disk";
  fs::create_directory(disk);
  const bool mounted =
      ::mount("none", disk.c_str(), "tmpfs", 0, "size=600k") == 0;  // needs privileges
  const fs::path workdir = disk / "run";
  std::string output;
  if (mounted) {
    // Some checkpoints fit, then a file takes the rest.
    {
      WatchedRun run(workdir, run_words(workdir, 1), temp.path() / "out");
      REQUIRE(run.wait_for_step(kRunSteps / 4));
      run.process.signal(SIGTERM);
      REQUIRE(run.process.wait() == 75);
    }
    shell("dd if=/dev/zero bs=1k of=" + quoted((disk / "filler").string()));
    CHECK(run_to_end(workdir, 1, &output) == 1);
    CHECK_THAT(output, Contains("No space left on device"));
    fs::remove(disk / "filler");
  } else {
    std::string command = "ulimit -f 20; exec";
    for (const std::string& word : run_words(workdir, 1)) command += " " + quoted(word);
    const auto limited = shell(command);
    CHECK(limited.exit_code == 1);
    CHECK_THAT(limited.output, Contains("File too large"));
  }
  CHECK(run_to_end(workdir, 1) == 0);
  check_undisturbed(result_of(workdir));
  if (mounted) ::umount2(disk.c_str(), MNT_DETACH);
}
