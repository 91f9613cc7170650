// SPDX-License-Identifier: Apache-2.0
// Modes in which one process follows another, fine tuning by rules, and `trivet ckpt`.
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "run_fixture.h"
#include "support/disk/slow_disk.h"
#include "support/overrides.h"
#include "support/paths.h"
#include "support/shell.h"

using namespace trivet::test;
using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;
namespace test = trivet::test;

namespace {

const std::string kSmall =
    "trainer.steps_per_loop=100 trainer.checkpoint_interval=100 " + std::string(kSmallRun);

std::string program_line(const fs::path& workdir, const std::string& mode,
                         const std::string& more) {
  return "TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string()) + " " + quoted(program().string()) +
         " run " + quoted(config("vision/local.toml").string()) + " --mode " + mode +
         " --workdir " + quoted(workdir.string()) + " " +
         last_of_each(kSmall + "trainer.train_steps=3000 " + more);
}

// A training run and a process that follows it, started first, with the output of both.
ShellResult train_and_follow(const fs::path& workdir, const std::string& train_more,
                             const std::string& follow_more) {
  return shell("{ " + program_line(workdir, "continuous_eval", follow_more) +
               "; echo follower $?; } & " + program_line(workdir, "train", train_more) +
               " -q; echo trainer $?; wait");
}

std::vector<std::int64_t> steps_of(const std::vector<json>& all) {
  std::vector<std::int64_t> steps;
  for (const json& record : all) steps.push_back(record.at("step"));
  return steps;
}

}  // namespace

TEST_CASE("a second process follows a training run and ends with it", "[slow]") {
  TempDir temp;
  const fs::path workdir = temp / "run";
  const auto told = train_and_follow(workdir, "trainer.max_to_keep=0", "");
  INFO(told.output);
  CHECK_THAT(told.output, Contains("follower 0") && Contains("trainer 0"));
  CHECK_THAT(told.output, Contains("waiting in") && Contains("until"));
  const auto steps = steps_of(records(workdir / "continuous_eval", "eval"));
  REQUIRE_FALSE(steps.empty());
  CHECK(std::is_sorted(steps.begin(), steps.end()));
  CHECK(std::adjacent_find(steps.begin(), steps.end()) == steps.end());
  CHECK(steps.back() == 3000);
  // Every checkpoint it reports exists and verifies.
  const auto verified = test::trivet("ckpt verify --json " + quoted(workdir.string()));
  CHECK(verified.exit_code == 0);
  std::vector<std::int64_t> whole;
  for (const json& row : json::parse(verified.output)) {
    if (row.at("whole")) whole.push_back(row.at("step"));
  }
  for (const std::int64_t step : steps) {
    CHECK(std::find(whole.begin(), whole.end(), step) != whole.end());
  }
  CHECK(json_of(workdir / "continuous_eval" / "status.json").at("state") == "done");
  // The training run is unchanged: it has only its own records.
  CHECK(records(workdir, "eval").empty());
  // After a restart, its work is already done.
  const auto again = test::trivet("run " + quoted(config("vision/local.toml").string()) + " " +
                                  kSmall + "trainer.train_steps=3000 " +
                                  "--mode continuous_eval --workdir " + quoted(workdir.string()));
  CHECK(again.exit_code == 0);
  CHECK(steps_of(records(workdir / "continuous_eval", "eval")) == steps);
}

TEST_CASE("a follower survives checkpoints that are removed while it reads", "[slow]") {
  TempDir temp;
  const fs::path workdir = temp / "run";
  const auto told = train_and_follow(
      workdir, "trainer.max_to_keep=1 trainer.checkpoint_interval=5",
      "trainer.best_checkpoint.metric=validation_loss trainer.best_checkpoint.goal=min");
  INFO(told.output);
  CHECK_THAT(told.output, Contains("follower 0") && Contains("trainer 0"));
  CHECK_THAT(told.output, !Contains("warning"));
  const auto steps = steps_of(records(workdir / "continuous_eval", "eval"));
  REQUIRE_FALSE(steps.empty());
  CHECK(steps.back() == 3000);
  // Its own checkpoint is complete, although the run has removed the original.
  CHECK(test::trivet("ckpt verify " + quoted((workdir / "continuous_eval").string())).exit_code ==
        0);
  CHECK(fs::exists(workdir / "continuous_eval" / "best" / "best.json"));
}

TEST_CASE("a follower ends if the run is done before its target, or after a timeout") {
  TempDir temp;
  const fs::path workdir = temp / "run";
  run(config("vision/local.toml"), workdir, kSmall + "trainer.train_steps=200 --mode train");
  const auto done = run(config("vision/local.toml"), workdir,
                        kSmall + "trainer.train_steps=3000 " + "--mode continuous_eval");
  CHECK(done.exit_code == 0);
  CHECK_THAT(done.output, Contains("the run is done at step 200"));
  const auto nothing = run(config("vision/local.toml"), temp / "empty",
                           kSmall + "trainer.train_steps=3000 " +
                               "--mode continuous_eval trainer.continuous_eval_timeout=0.3");
  CHECK(nothing.exit_code == 0);
  CHECK_THAT(nothing.output, Contains("no checkpoint for"));
}

TEST_CASE("a follower skips a damaged checkpoint and evaluates the previous one") {
  TempDir temp;
  const fs::path workdir = temp / "run";
  const std::string steps = kSmall + "trainer.train_steps=200 ";
  run(config("vision/local.toml"), workdir, steps + "--mode train");
  const fs::path damaged = workdir / "checkpoints/step_00000200/model.safetensors";
  fs::resize_file(damaged, 10);
  const auto told = run(config("vision/local.toml"), workdir, steps + "--mode continuous_eval");
  INFO(told.output);
  CHECK(told.exit_code == 0);
  CHECK_THAT(told.output,
             Contains("warning: checkpoint skipped: " + damaged.string() + " has 10 bytes") &&
                 !Contains("was never finished"));
  CHECK(steps_of(records(workdir / "continuous_eval", "eval")) == std::vector<std::int64_t>{100});
  CHECK_FALSE(fs::exists(workdir / "continuous_eval/checkpoints/step_00000200"));
  // Again, with only the damaged checkpoint ahead: its own checkpoint stays.
  CHECK(run(config("vision/local.toml"), workdir, steps + "--mode continuous_eval").exit_code == 0);
  CHECK(test::trivet("ckpt verify " + quoted((workdir / "continuous_eval").string())).exit_code ==
        0);
}

TEST_CASE("a follower of a run without an intact checkpoint reports that it evaluated none") {
  TempDir temp;
  const fs::path workdir = temp / "run";
  const std::string steps = kSmall + "trainer.train_steps=100 ";
  run(config("vision/local.toml"), workdir, steps + "--mode train");
  for (const auto& checkpoint : fs::directory_iterator(workdir / "checkpoints")) {
    if (checkpoint.is_directory()) fs::resize_file(checkpoint.path() / "model.safetensors", 10);
  }
  const auto told = run(config("vision/local.toml"), workdir, steps + "--mode continuous_eval");
  INFO(told.output);
  CHECK(told.exit_code == 0);
  CHECK_THAT(told.output, Contains("left no checkpoint to evaluate") && !Contains("step -1"));
  CHECK(records(workdir / "continuous_eval", "eval").empty());
}

TEST_CASE("a follower with another model is rejected with the difference") {
  TempDir temp;
  run(config("vision/local.toml"), temp / "run", kSmall + "trainer.train_steps=10 --mode train");
  const auto other = run(
      config("vision/local.toml"), temp / "run",
      kSmall + "trainer.train_steps=3000 " + "task.model.hidden_dims=[8] --mode continuous_eval");
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.output, Contains("trains another task or model") && Contains("hidden_dims"));
  const auto lost = test::trivet("run " + quoted(config("vision/local.toml").string()) +
                                 " --mode continuous_eval");
  CHECK(lost.exit_code == 2);
  CHECK_THAT(lost.output, Contains("--workdir"));
}

TEST_CASE("train_and_post_eval only evaluates at the end") {
  TempDir temp;
  // Only once: a second process finds it done.
  for (int process = 0; process < 2; ++process) {
    const auto told = run(config("vision/local.toml"), temp / "run",
                          kSmall +
                              "trainer.train_steps=300 trainer.validation_interval=100 "
                              "--mode train_and_post_eval");
    CHECK(told.exit_code == 0);
    CHECK((told.output.find("eval step=300") == std::string::npos) == (process == 1));
    CHECK(steps_of(records(temp / "run", "eval")) == std::vector<std::int64_t>{300});
  }
}

TEST_CASE("continuous_train_and_eval trains from a run's checkpoint in its own directory") {
  TempDir temp;
  run(config("vision/local.toml"), temp / "base", kSmall + "trainer.train_steps=200 --mode train");
  const auto told =
      run(config("vision/local.toml"), temp / "tuned",
          kSmall + "trainer.train_steps=50 --mode continuous_train_and_eval task.init_checkpoint=" +
              quoted((temp / "base").string()));
  INFO(told.output);
  CHECK(told.exit_code == 0);
  CHECK_THAT(told.output, Contains("training from the checkpoint of step 200") &&
                              Contains("4 of 4 variables from"));
  const auto all = records(temp / "tuned", "eval");
  CHECK(steps_of(all) == std::vector<std::int64_t>{200});
  const auto inner = records(temp / "tuned" / "from_step_00000200", "eval");
  REQUIRE(inner.size() == 1);
  CHECK(inner[0].at("values") == all.at(0).at("values"));
}

TEST_CASE("continuous_train_and_eval ends a training that was killed before it takes a newer one",
          "[slow]") {
  TempDir temp;
  const auto base = config("vision/local.toml");
  run(base, temp / "base", kSmall + "trainer.train_steps=200 --mode train");
  const std::string tune = kSmall +
                           "trainer.train_steps=300 --mode continuous_train_and_eval "
                           "task.init_checkpoint=" +
                           quoted((temp / "base").string());
  REQUIRE(run(base, temp / "alone", tune).exit_code == 0);
  const auto alone = records(temp / "alone", "eval");
  // One kill when its training renames the second checkpoint, one when it records the result of the
  // training, which is the second call for that file.
  const fs::path inside = temp / "inside", behind = temp / "behind";
  const fs::path saved = inside / "from_step_00000200/checkpoints/step_00000200";
  for (const SlowDisk& disk : {SlowDisk{.below = saved, .kill = 1},
                               SlowDisk{.below = behind / "metrics.jsonl", .kill = 2}}) {
    const fs::path& workdir = disk.kill == 1 ? inside : behind;
    REQUIRE(run(base, workdir, tune, disk.prefix()).exit_code == 128 + SIGKILL);
    CHECK(records(workdir, "eval").empty());
  }
  REQUIRE(steps_of(records(behind / "from_step_00000200", "eval")).back() == 300);
  REQUIRE(run(base, temp / "base", kSmall + "trainer.train_steps=400 --mode train").exit_code == 0);

  for (const fs::path& workdir : {inside, behind}) {
    const auto told = run(base, workdir, tune);
    INFO(told.output);
    CHECK(told.exit_code == 0);
    CHECK_THAT(told.output, Contains("training from the checkpoint of step 400"));
    CHECK((told.output.find("continue step=100") != std::string::npos) == (workdir == inside));
    const auto all = records(workdir, "eval");
    REQUIRE(steps_of(all) == std::vector<std::int64_t>{200, 400});
    CHECK(all[0].at("values") == alone.at(0).at("values"));
    CHECK(all[1].at("values") != all[0].at("values"));
  }
}

TEST_CASE(
    "a classifier for ten classes is fine-tuned for two by rules, with a report of every "
    "variable") {
  TempDir temp;
  run(config("vision/local.toml"), temp / "ten", kSmall + "trainer.train_steps=100 --mode train");
  const std::string two = kSmall +
                          "trainer.train_steps=20 --mode train task.num_classes=2 task.top_k=1 "
                          "task.model.num_classes=2 "
                          "task.train_input.num_classes=2 task.eval_input.num_classes=2 "
                          "task.init_checkpoint=" +
                          quoted((temp / "ten").string()) + " ";
  const auto refused = run(config("vision/local.toml"), temp / "refused", two);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output, Contains("differs  output/w") && Contains("loaded  hidden_0/w"));
  const auto tuned = run(config("vision/local.toml"), temp / "two",
                         two + "'task.init_load.ignore=[\"output/.*\"]'");
  INFO(tuned.output);
  CHECK(tuned.exit_code == 0);
  CHECK_THAT(tuned.output, Contains("2 of 4 variables from") && Contains("ignored output/w"));
  const std::string log = read_file(temp / "two" / "log.jsonl");
  for (const char* variable : {"hidden_0/w", "hidden_0/b", "output/w", "output/b"}) {
    CHECK_THAT(log, Contains("\"variable\":\"" + std::string(variable) + "\""));
  }
}

TEST_CASE("ckpt lists, compares, averages and finds damage") {
  TempDir temp;
  const fs::path workdir = temp / "run";
  run(config("vision/local.toml"), workdir, kSmall + "trainer.train_steps=300 --mode train");
  const fs::path first = workdir / "checkpoints" / "step_00000100";
  const fs::path last = workdir / "checkpoints" / "step_00000300";
  const auto json_from = [](const std::string& words) {
    return json::parse(test::trivet("ckpt " + words + " --json").output);
  };
  CHECK(json_from("ls " + quoted(workdir.string())).size() == 3);
  const json info = json_from("info " + quoted(workdir.string()));
  CHECK(info.at("step") == 300);
  CHECK(info.at("tensors").at(0).at("dtype") == "f32");

  CHECK(test::trivet("ckpt diff " + quoted(first.string()) + " " + quoted(first.string()))
            .exit_code == 0);
  const auto differ =
      test::trivet("ckpt diff " + quoted(first.string()) + " " + quoted(last.string()));
  CHECK(differ.exit_code == 1);
  CHECK_THAT(differ.output, Contains("~ model: hidden_0/w"));

  // The mean of a checkpoint with itself is itself; of two it lies between.
  const std::string mean = quoted((temp / "mean").string());
  REQUIRE(test::trivet("ckpt average " + mean + " " + quoted(last.string()) + " " +
                       quoted(last.string()))
              .exit_code == 0);
  for (const json& row : json_from("diff " + mean + " " + quoted(last.string()))) {
    if (row.at("file") == "model") CHECK(row.at("what") == "equal");
  }
  CHECK(test::trivet("ckpt average " + mean + " " + quoted(last.string())).exit_code ==
        1);  // exists
  REQUIRE(test::trivet("ckpt average " + quoted((temp / "half").string()) + " " +
                       quoted(first.string()) + " " + quoted(last.string()))
              .exit_code == 0);
  const auto distance = [&](const fs::path& a, const fs::path& b) {
    for (const json& row : json_from("diff " + quoted(a.string()) + " " + quoted(b.string()))) {
      if (row.at("file") == "model" && row.at("name") == "hidden_0/w") {
        return row.at("largest").get<double>();
      }
    }
    return -1.0;
  };
  const double whole_way = distance(first, last);
  CHECK(whole_way > 0);
  // Half the way in float: each mean is rounded once.
  CHECK(distance(first, temp / "half") == Approx(whole_way / 2).epsilon(1e-5));
  CHECK(test::trivet("run " + quoted(config("vision/local.toml").string()) + " " + kSmall +
                     "trainer.train_steps=3000 " +
                     "--mode eval task.init_checkpoint=" + quoted((temp / "half").string()) +
                     " --workdir " + quoted((temp / "eval").string()))
            .exit_code == 0);

  CHECK(test::trivet("ckpt verify " + quoted(workdir.string())).exit_code == 0);
  fs::resize_file(last / "model.safetensors", fs::file_size(last / "model.safetensors") - 1);
  const auto damaged = test::trivet("ckpt verify " + quoted(workdir.string()));
  CHECK(damaged.exit_code == 1);
  CHECK_THAT(damaged.output,
             Contains("damaged") && Contains("step_00000300") && Contains("bytes instead of"));
  CHECK(test::trivet("ckpt info " + quoted((temp / "gone").string())).exit_code == 2);
  CHECK(test::trivet("ckpt lst x").exit_code == 2);
}

TEST_CASE("a copied run directory is not locked and continues to the same bytes") {
  TempDir temp;
  const std::string half = kSmall + "trainer.train_steps=400 --mode train ";
  run(config("vision/local.toml"), temp / "a", kSmall + "trainer.train_steps=200 --mode train");
  fs::copy(temp / "a", temp / "b", fs::copy_options::recursive);
  CHECK(run(config("vision/local.toml"), temp / "a", half).exit_code == 0);
  CHECK(run(config("vision/local.toml"), temp / "b", half).exit_code == 0);
  const fs::path weights = fs::path("checkpoints") / "step_00000400" / "model.safetensors";
  CHECK(read_file(temp / "a" / weights.string()) == read_file(temp / "b" / weights.string()));
}
