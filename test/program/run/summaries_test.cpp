// SPDX-License-Identifier: Apache-2.0
// TensorBoard event files of real runs, against metrics.jsonl of the same runs.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "run_fixture.h"
#include "support/disk/slow_disk.h"
#include "support/event_file.h"

namespace summaries_test {

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

ShellResult run_small(const fs::path& workdir, const std::string& more,
                      const std::string& settings = {}) {
  const std::string own =
      "trainer.steps_per_loop=20 trainer.validation_interval=40 trainer.checkpoint_interval=40 "
      "'trainer.summary_writers=[\"tensorboard/Events\"]' ";
  return run(config("vision/local.toml"), workdir, kSmallRun + own + more, settings);
}

using Numbers = std::map<std::pair<std::int64_t, std::string>, float>;

// The steps of a group in a reader: later files replace steps after the start of their session.
Numbers scalars_of(const fs::path& workdir, const std::string& group) {
  Numbers numbers;
  for (const fs::path& file : event_files(workdir / "events" / group)) {
    for (const Event& event : read_events(file)) {
      if (event.session_start) {
        std::erase_if(numbers, [&](const auto& one) { return one.first.first >= event.step; });
      }
      for (const EventValue& value : event.values) {
        if (value.number) numbers[{event.step, value.tag}] = *value.number;
      }
    }
  }
  return numbers;
}

Numbers values_of(const fs::path& workdir, const std::string& kind) {
  Numbers numbers;
  for (const auto& record : records(workdir, kind)) {
    for (const char* part : {"values", "rates"}) {
      for (const auto& [name, value] : record.at(part).items()) {
        numbers[{record.at("step").get<std::int64_t>(), name}] = value.get<float>();
      }
    }
  }
  return numbers;
}

std::set<std::string> tags_of(const fs::path& workdir, const std::string& group,
                              std::int64_t step) {
  std::set<std::string> tags;
  for (const fs::path& file : event_files(workdir / "events" / group)) {
    for (const Event& event : read_events(file)) {
      for (const EventValue& value : event.values) {
        if (event.step == step) tags.insert(value.tag);
      }
    }
  }
  return tags;
}

}  // namespace

TEST_CASE("event files hold the numbers of metrics.jsonl, training and evaluation apart") {
  const TempDir temp;
  const fs::path workdir = temp / "run";
  const ShellResult done = run_small(workdir, "trainer.train_steps=80");
  INFO(done.output);
  REQUIRE(done.exit_code == 0);
  const Numbers train = values_of(workdir, "train");
  CHECK(train.size() >= 4 * 4);
  CHECK(scalars_of(workdir, "train") == train);
  CHECK(scalars_of(workdir, "eval") == values_of(workdir, "eval"));
  const std::string text = read_file(workdir / "config.toml");
  const Event first = read_events(event_files(workdir / "events/train")[0]).at(2);
  REQUIRE(first.values.size() == 1);
  CHECK(first.values[0].tag == "config");
  CHECK(first.values[0].text == "```toml\n" + text + "```\n");
}

TEST_CASE("images, logits, weights and gradients are written only at the summary interval") {
  const TempDir temp;
  const fs::path workdir = temp / "run";
  const ShellResult done = run_small(workdir,
                                     "trainer.train_steps=40 trainer.summary_interval=30 "
                                     "trainer.summary_histograms=true");
  INFO(done.output);
  REQUIRE(done.exit_code == 0);
  const std::set<std::string> inside = tags_of(workdir, "train", 30);
  for (const char* tag : {"images/0", "images/7", "logits"}) CHECK(inside.count(tag) == 1);
  CHECK(inside.count("images/8") == 0);
  const auto starting_with = [&](const std::string& prefix) {
    return std::count_if(inside.begin(), inside.end(),
                         [&](const std::string& tag) { return tag.starts_with(prefix); });
  };
  CHECK(starting_with("weights/") == 4);  // two layers, each with weight and bias
  CHECK(starting_with("gradients/") == 4);
  CHECK(tags_of(workdir, "train", 20).count("logits") == 0);
  const std::set<std::string> eval = tags_of(workdir, "eval", 40);
  CHECK(eval.count("images/0") == 1);
  CHECK(eval.count("validation_loss") == 1);
}

TEST_CASE("a run continued in another process shows every step once") {
  const TempDir temp;
  const fs::path workdir = temp / "run";
  REQUIRE(run_small(workdir, "trainer.train_steps=60").exit_code == 0);
  fs::remove_all(workdir / "checkpoints/step_00000060");
  const ShellResult again = run_small(workdir, "trainer.train_steps=100");
  INFO(again.output);
  REQUIRE(again.exit_code == 0);
  CHECK_THAT(again.output, Contains("step_00000040"));
  CHECK(event_files(workdir / "events/train").size() == 2);
  CHECK(scalars_of(workdir, "train") == values_of(workdir, "train"));
}

// All steps in the files, without regard to sessions, with repetitions.
std::multimap<std::pair<std::int64_t, std::string>, std::string> points_of(
    const fs::path& workdir) {
  std::multimap<std::pair<std::int64_t, std::string>, std::string> points;
  for (const char* const group : {"train", "eval"}) {
    for (const fs::path& file : event_files(workdir / "events" / group)) {
      for (const Event& event : read_events(file)) {
        for (const EventValue& value : event.values) {
          points.emplace(std::pair(event.step, value.tag), group);
        }
      }
    }
  }
  return points;
}

TEST_CASE("a run killed at any call to its records holds every step of each once",
          "[slow][nosan]") {
  const TempDir temp;
  const std::string own =
      "trainer.train_steps=80 trainer.checkpoint_async=false trainer.summary_interval=40 ";
  REQUIRE(run_small(temp / "alone", own).exit_code == 0);
  const auto alone = points_of(temp / "alone");
  REQUIRE(alone.size() > 20);
  for (const char* const file : {"metrics.jsonl", "events"}) {
    for (std::uint64_t call = 2; call <= 14; ++call) {
      INFO(file << ", call " << call);
      const fs::path workdir = temp / (file + std::to_string(call));
      const SlowDisk disk{.below = workdir / file, .kill = call};
      const ShellResult killed = run_small(workdir, own, disk.prefix());
      if (killed.exit_code == 0) continue;  // there are fewer calls
      const ShellResult again = run_small(workdir, own);
      INFO(again.output);
      REQUIRE(again.exit_code == 0);
      CHECK(points_of(workdir) == alone);
    }
  }
}

TEST_CASE("a run that goes back to a checkpoint records every step once and reports it") {
  const TempDir temp;
  const fs::path workdir = temp / "run";
  // From step 61 on a rate that ruins the weights at once: the run goes back to step 40, and there
  // again.
  const ShellResult failed =
      run_small(workdir,
                "trainer.train_steps=100 trainer.loss_upper_bound=100 "
                "trainer.recovery_max_trials=1 'trainer.learning_rate="
                "{ type = \"optim/Piecewise\", boundaries = [60], values = [0.003, 1e6] }'");
  INFO(failed.output);
  REQUIRE(failed.exit_code == 1);
  CHECK_THAT(failed.output, Contains("back to step 40 (step_00000040)"));
  std::vector<std::int64_t> steps, session_starts;
  for (const auto& record : records(workdir, "train")) steps.push_back(record.at("step"));
  CHECK(steps == std::vector<std::int64_t>{20, 40, 60, 61});
  for (const fs::path& file : event_files(workdir / "events/train")) {
    for (const Event& event : read_events(file)) {
      if (event.session_start) session_starts.push_back(event.step);
    }
  }
  CHECK(session_starts == std::vector<std::int64_t>{1, 41});
  CHECK(scalars_of(workdir, "train") == values_of(workdir, "train"));
}

TEST_CASE("event files that cannot be written end the run, naming plugin and reason") {
  const TempDir temp;
  temp.write("run/events", "in the way");
  const ShellResult failed = run_small(temp / "run", "trainer.train_steps=20");
  CHECK(failed.exit_code == 1);
  CHECK_THAT(failed.output, Contains("cannot use the directory") && Contains("tensorboard"));
}

TEST_CASE("a full disk for event files ends the run with their name, and no checkpoint is lost") {
  const TempDir temp;
  const fs::path straight = temp / "straight", workdir = temp / "run";
  const std::string steps = "trainer.train_steps=120 trainer.max_to_keep=0";
  REQUIRE(run_small(straight, steps).exit_code == 0);
  std::int64_t whole = 0;
  for (const auto& file : fs::recursive_directory_iterator(straight / "events")) {
    if (file.is_regular_file()) whole += static_cast<std::int64_t>(file.file_size());
  }
  // Space for the head of the file, which is written with the first metrics at step 20, and for all
  // metrics but those of the last loop.
  for (const std::int64_t room : {std::int64_t{80}, whole - 100}) {
    INFO(room << " bytes");
    const SlowDisk disk{.below = workdir / "events", .room = room};
    const ShellResult failed = run_small(workdir, steps, disk.prefix());
    INFO(failed.output);
    CHECK(failed.exit_code == 1);
    CHECK_THAT(failed.output, Contains("cannot write " + (workdir / "events/").string()) &&
                                  Contains("No space left on device"));
    CHECK(json_of(workdir / "status.json").at("state") == "failed");
    const bool saved = room > 1000;
    CHECK(fs::exists(workdir / "checkpoints/step_00000040") == saved);
    if (saved) {
      CHECK(trivet::test::trivet("ckpt verify " + quoted(workdir.string())).exit_code == 0);
    }
  }
  const ShellResult again = run_small(workdir, steps);
  INFO(again.output);
  REQUIRE(again.exit_code == 0);
  CHECK(scalars_of(workdir, "train") == values_of(workdir, "train"));
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    const fs::path last = fs::path("checkpoints/step_00000120") / file;
    CHECK(read_file(workdir / last) == read_file(straight / last));
  }
}

TEST_CASE("histograms without an interval are rejected before anything is created") {
  const TempDir temp;
  const ShellResult refused = run_small(temp / "run", "trainer.summary_histograms=true");
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output,
             Contains("trainer.summary_histograms") && Contains("set summary_interval"));
  CHECK_FALSE(fs::exists(temp / "run"));
}

}  // namespace summaries_test
