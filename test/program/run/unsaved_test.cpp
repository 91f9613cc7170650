// SPDX-License-Identifier: Apache-2.0
// Runs that save no checkpoint, and runs whose old checkpoints are moved instead of removed.
#include <signal.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/shell.h"

namespace unsaved_test {

using namespace trivet;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

const std::string kUnsaved = std::string(test::kSmallRun) +
                             "trainer.train_steps=40 trainer.steps_per_loop=10 "
                             "trainer.validation_interval=20 trainer.save_checkpoints=false ";

test::ShellResult run_local(const fs::path& workdir, const std::string& more) {
  return test::run(test::config("vision/local.toml"), workdir, more);
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

}  // namespace

TEST_CASE("a run without checkpoints has the results of one with them, and can be repeated") {
  const test::TempDir temp;
  const auto first = run_local(temp / "run", kUnsaved);
  INFO(first.output);
  REQUIRE(first.exit_code == 0);
  CHECK_THAT(first.output, Contains("train     to step 40, saving no checkpoint"));
  CHECK_THAT(first.output, !Contains("restart"));
  CHECK_FALSE(fs::exists(temp / "run/checkpoints"));
  CHECK(test::state_of(temp / "run") == "done");
  REQUIRE(run_local(temp / "saved", kUnsaved + "trainer.save_checkpoints=true").exit_code == 0);
  CHECK(fs::exists(test::checkpoint_of(temp / "saved", 40)));
  const std::string records = test::record_values(temp / "run");
  CHECK(test::records(temp / "run", "eval").size() == 2);
  CHECK(records == test::record_values(temp / "saved"));
  // It starts again, as there is nothing to continue from.
  const auto again = run_local(temp / "run", kUnsaved);
  REQUIRE(again.exit_code == 0);
  CHECK_THAT(again.output,
             Contains("restart   at step 0: the run was at step 40, but has no checkpoint"));
  CHECK(records == test::record_values(temp / "run"));
  // A run with checkpoints continues from them, and adds none.
  const auto further = run_local(temp / "saved", kUnsaved + "trainer.train_steps=60");
  REQUIRE(further.exit_code == 0);
  CHECK_THAT(further.output, !Contains("restart"));
  CHECK(test::last_step(temp / "saved") == 60);
  CHECK_FALSE(fs::exists(test::checkpoint_of(temp / "saved", 60)));
}

TEST_CASE("nothing that needs the weights of a run without checkpoints is done with others") {
  const test::TempDir temp;
  REQUIRE(run_local(temp / "run", kUnsaved).exit_code == 0);
  const auto eval = run_local(temp / "run", kUnsaved + "--mode eval");
  INFO(eval.output);
  CHECK(eval.exit_code == 2);
  CHECK_THAT(eval.output, Contains("trainer.save_checkpoints: is false: ") &&
                              Contains("was trained, but has no checkpoint") &&
                              Contains("train it with trainer.save_checkpoints=true"));
  CHECK_FALSE(fs::exists(temp / "run/evals/1/summary.json"));
  const auto follow = run_local(temp / "run", kUnsaved + "--mode continuous_eval");
  CHECK(follow.exit_code == 2);
  CHECK_THAT(follow.output, Contains("saves no checkpoint to evaluate"));
  const auto decode = run_local(temp / "run", kUnsaved + "--mode decode");
  CHECK(decode.exit_code == 2);
  CHECK_THAT(decode.output, Contains("was trained, but has no checkpoint"));
  const auto predict =
      test::trivet("predict " + test::quoted((temp / "run").string()) + " --input -");
  CHECK(predict.exit_code != 0);
  CHECK_THAT(predict.output, Contains("no checkpoint"));
  // Weights that were never trained can be evaluated, as before.
  CHECK(run_local(temp / "untrained", kUnsaved + "--mode eval").exit_code == 0);
}

TEST_CASE("a run without checkpoints says at a stop signal that nothing is saved", "[slow]") {
  const test::TempDir temp;
  test::WatchedRun run(temp / "run",
                       test::run_words(temp / "run", 1, {"trainer.save_checkpoints=false"}),
                       temp / "output");
  REQUIRE(run.wait_for_step(100));
  run.process.signal(SIGTERM);
  CHECK(run.process.wait() == 75);
  CHECK_THAT(run.process.output(),
             Contains("trainer.save_checkpoints is false: step ") &&
                 Contains("was not saved; a run that continues starts at its newest checkpoint, or "
                          "at step 0 without one") &&
                 Contains("stopped by SIGTERM; nothing is saved: start again at step 0 with "
                          "--workdir"));
  CHECK(test::state_of(temp / "run") == "preempted");
  CHECK_FALSE(fs::exists(temp / "run/checkpoints"));
  REQUIRE(test::run_to_end(temp / "run", 1, nullptr, {"trainer.save_checkpoints=false"}) == 0);
  CHECK(test::last_step(temp / "run") == test::kRunSteps);
  REQUIRE(test::run_to_end(temp / "saved", 1) == 0);
  CHECK(test::record_values(temp / "run") == test::record_values(temp / "saved"));
}

TEST_CASE("an action ends a run without checkpoints") {
  const test::TempDir temp;
  const auto result =
      run_local(temp / "run", kUnsaved +
                                  test::quoted("trainer.eval_actions=[{type='trivet/EarlyStop', "
                                               "metric='accuracy', min_delta=1, patience=1}]") +
                                  " trainer.train_steps=400");
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK(test::json_of(temp / "run/status.json").at("step") == 40);
  CHECK_THAT(result.output, Contains("accuracy did not improve on"));
}

TEST_CASE("what needs checkpoints is refused without them, by its path") {
  const test::TempDir temp;
  for (const char* field :
       {"best_checkpoint.metric=accuracy", "keep_checkpoint_every=10", "checkpoint_at_start=true",
        "checkpoint_todelete_subdir=old", "recovery_max_trials=3"}) {
    const std::string setting = field;
    const auto result = run_local(temp / "run", kUnsaved + "trainer." + setting);
    INFO(result.output);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains("trainer." + setting.substr(0, setting.find('=')) +
                                       ": needs checkpoints, and save_checkpoints is false"));
  }
  // A bad step can be left out without one.
  CHECK(run_local(temp / "skips", kUnsaved + "trainer.recovery_max_trials=3 trainer.recovery=skip")
            .exit_code == 0);
  CHECK_FALSE(fs::exists(temp / "run"));
}

TEST_CASE("old checkpoints are moved to the folder that the config names") {
  const test::TempDir temp;
  const std::string moving = std::string(test::kSmallRun) +
                             "trainer.train_steps=50 trainer.steps_per_loop=10 mode=train "
                             "trainer.checkpoint_interval=10 trainer.max_to_keep=2 "
                             "trainer.checkpoint_todelete_subdir=old ";
  REQUIRE(run_local(temp / "run", moving).exit_code == 0);
  const fs::path folder = temp / "run/checkpoints";
  const std::set<std::string> kept = {"old", "step_00000040", "step_00000050"};
  CHECK(names_in(folder) == kept);
  const std::set<std::string> moved = {"step_00000010", "step_00000020", "step_00000030"};
  CHECK(names_in(folder / "old") == moved);
  // They are whole, and no part of the run any more.
  const auto verified = test::trivet("ckpt verify " + test::quoted((folder / "old").string()));
  INFO(verified.output);
  CHECK(verified.exit_code == 0);
  const auto listed = test::trivet("ckpt ls " + test::quoted((temp / "run").string()));
  CHECK_THAT(listed.output, Contains("50") && !Contains("step_00000030"));

  // The same steps once more: neither copy is lost.
  fs::remove_all(folder / "step_00000040");
  fs::remove_all(folder / "step_00000050");
  REQUIRE(run_local(temp / "run", moving).exit_code == 0);
  CHECK(names_in(folder) == kept);
  CHECK(names_in(folder / "old").size() == 6);
  CHECK(fs::exists(folder / "old/step_00000010.2/state.json"));

  // A run continues from the kept ones alone.
  const auto resumed = run_local(temp / "run", moving + "trainer.train_steps=60");
  INFO(resumed.output);
  REQUIRE(resumed.exit_code == 0);
  CHECK(names_in(folder) == std::set<std::string>{"old", "step_00000050", "step_00000060"});
  CHECK(names_in(folder / "old").size() == 7);

  // A file in the way costs the space, but not the run.
  fs::remove_all(folder / "old");
  std::ofstream(folder / "old") << "a file";
  const auto blocked = run_local(temp / "run", moving + "trainer.train_steps=70");
  INFO(blocked.output);
  CHECK(blocked.exit_code == 0);
  CHECK_THAT(blocked.output, Contains("step_00000050 is no longer needed, but stays: "));
  CHECK(fs::exists(folder / "step_00000050"));
}

TEST_CASE("an evaluation that follows a run keeps no old checkpoint in the folder") {
  const test::TempDir temp;
  const std::string moving = std::string(test::kSmallRun) +
                             "trainer.steps_per_loop=10 trainer.checkpoint_interval=10 "
                             "trainer.checkpoint_todelete_subdir=old ";
  for (const char* steps : {"20", "30"}) {
    const std::string until = moving + "trainer.train_steps=" + steps;
    REQUIRE(run_local(temp / "run", until + " --mode train").exit_code == 0);
    const auto followed = run_local(temp / "run", until + " --mode continuous_eval");
    INFO(followed.output);
    REQUIRE(followed.exit_code == 0);
  }
  const std::set<std::string> evaluated = {"step_00000030"};
  CHECK(names_in(temp / "run/continuous_eval/checkpoints") == evaluated);
}

TEST_CASE("the folder for old checkpoints is one name") {
  const test::TempDir temp;
  for (const char* name :
       {"a/b", "..", ".", "/tmp/x", "../x", ".tmp_x", "step_00000010", "a b", "\xc3\xa4", "\xff"}) {
    const auto result =
        run_local(temp / "run", "trainer.checkpoint_todelete_subdir=" + test::quoted(name));
    INFO(name << ": " << result.output);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains("trainer.checkpoint_todelete_subdir"));
  }
  CHECK_FALSE(fs::exists(temp / "run"));
}

}  // namespace unsaved_test
