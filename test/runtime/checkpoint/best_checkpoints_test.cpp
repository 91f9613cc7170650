// SPDX-License-Identifier: Apache-2.0
// Kept checkpoints, asynchronous writes, and the best checkpoints.
#include "checkpoint/best_checkpoints.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "checkpoint/checkpoint_manager.h"
#include "support/shell.h"
#include "trivet/data/safetensors.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace train_saving_test {

using namespace trivet;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

using Steps = std::vector<std::int64_t>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void ignore(const std::string&) {}

CheckpointManager::Fill filled(const Tensor& w) {
  return [w](CheckpointWriter& writer) { writer.write_tensors("model", {{"w", w}}); };
}

Tensor weights(float value) {
  Tensor w = Tensor::host({1000});
  for (float& x : w.mutable_span<float>()) x = value;
  return w;
}

float weight_in(const fs::path& checkpoint) {
  const CheckpointDirectoryReader verified(checkpoint);
  const SafetensorsFile file(checkpoint / "model.safetensors");
  return *reinterpret_cast<const float*>(file.find("w")->data.data());
}

Logs accuracy(double value) {
  Logs logs;
  logs.set("loss", 1);
  logs.set("accuracy", value);
  return logs;
}

// Evaluates `values` at steps 10, 20, ... and returns the kept ones after each.
std::string offered(BestCheckpoints& best, const std::vector<double>& values,
                    std::int64_t first = 10) {
  std::string kept;
  std::int64_t step = first;
  for (const double value : values) {
    if (best.wanted(step, accuracy(value))) {
      best.keep({step, value}, {}, filled(weights(static_cast<float>(value))));
      kept += std::to_string(step) + " ";
    }
    step += 10;
  }
  return kept;
}

Steps steps_in(const fs::path& directory) {
  return CheckpointManager(directory, {}, ignore).steps();
}

}  // namespace

TEST_CASE("a checkpoint has the state at the start of its save", "[tsan]") {
  test::TempDir temp;
  CheckpointManager manager(temp / "c", {.max_to_keep = 5, .async = true}, ignore);
  Tensor w = weights(1);
  REQUIRE(manager.begin_save(1, filled(w)));
  for (float& x : w.mutable_span<float>()) x = 2;  // training continues
  CHECK_FALSE(manager.begin_save(1, filled(w)));   // this step is saved or being saved
  REQUIRE(manager.begin_save(2, filled(w)));       // waits for the first
  manager.wait();
  const auto saved = manager.take_saved();
  REQUIRE(saved.size() == 2);
  CHECK(saved[0].step == 1);
  CHECK(saved[1].step == 2);
  CHECK(saved[1].bytes > 4000);
  CHECK(manager.take_saved().empty());
  CHECK(weight_in(manager.path_of(1)) == 1);
  CHECK(weight_in(manager.path_of(2)) == 2);
}

TEST_CASE("a reused snapshot contains nothing of the previous one", "[tsan]") {
  test::TempDir temp;
  CheckpointManager manager(temp / "c", {.max_to_keep = 0, .async = true}, ignore);
  manager.begin_save(1, [](CheckpointWriter& writer) {
    writer.write_tensors("model", {{"w", weights(1)}, {"old", weights(1)}});
    writer.write_tensors("optimizer", {{"m", weights(1)}});
    writer.state("old", 1);
  });
  manager.begin_save(2, [](CheckpointWriter& writer) {
    writer.write_tensors("model", {{"w", weights(3)}});
    writer.state("new", 2);
  });
  manager.wait();
  CHECK(weight_in(manager.path_of(2)) == 3);
  CHECK_FALSE(fs::exists(manager.path_of(2) / "optimizer.safetensors"));
  CHECK(SafetensorsFile(manager.path_of(2) / "model.safetensors").entries().size() == 1);
  const CheckpointDirectoryReader reader(manager.path_of(2));
  CHECK_FALSE(reader.has_state("old"));
  CHECK(reader.has_state("new"));
}

TEST_CASE("the next call reports a failed background write", "[tsan]") {
  test::TempDir temp;
  const fs::path directory = temp / "c";
  CheckpointManager manager(directory, {.max_to_keep = 5, .async = true}, ignore);
  manager.save(1, filled(weights(1)));
  // A file in place of the directory: nothing can be written below it.
  fs::rename(directory, temp / "away");
  write_file(directory, "", Durability::cached);
  REQUIRE(manager.begin_save(2, filled(weights(2))));
  SECTION("by the next save") {
    CHECK_THROWS_WITH(manager.begin_save(3, filled(weights(3))),
                      Contains("checkpoint of step 2 not saved") && Contains("is unchanged"));
  }
  SECTION("by the next query for saved checkpoints") {
    manager.wait();
    CHECK(manager.failed());
    CHECK_THROWS_WITH(manager.take_saved(), Contains("checkpoint of step 2 not saved"));
    CHECK(manager.take_saved().empty());  // reported once
  }
  fs::remove(directory);
  fs::rename(temp / "away", directory);
  CHECK(manager.current() == 1);
  CHECK(manager.save(2, filled(weights(2))));  // the failed step may be tried again
  CHECK_FALSE(manager.failed());
  CHECK(weight_in(manager.path_of(2)) == 2);
}

TEST_CASE("the newest are kept, and multiples of keep_every forever") {
  struct Case {
    CheckpointOptions options;
    Steps kept;
  };
  const std::vector<Case> cases = {
      {{.max_to_keep = 0}, {10, 20, 30, 40, 50, 60, 70}},
      {{.max_to_keep = 2}, {60, 70}},
      {{.max_to_keep = 1, .keep_every = 30}, {30, 60, 70}},
      {{.max_to_keep = 2, .keep_every = 25}, {50, 60, 70}},
      {{.max_to_keep = 2, .keep_every = 7}, {50, 60, 70}},
      {{.max_to_keep = 1, .keep_every = 10}, {10, 20, 30, 40, 50, 60, 70}},
      {{.max_to_keep = 2, .keep_every = 1000, .async = true}, {60, 70}},
  };
  for (const Case& c : cases) {
    test::TempDir temp;
    CheckpointManager manager(temp / "c", c.options, ignore);
    for (std::int64_t step = 10; step <= 70; step += 10) {
      manager.begin_save(step, filled(weights(1)));
    }
    manager.wait();
    CHECK(manager.steps() == c.kept);
  }
}

TEST_CASE("with a time the first checkpoint is kept, and each one that is so much later") {
  test::TempDir temp;
  // The hours at which the steps 1, 2, .. were saved, and the process that keeps two more.
  const std::vector<int> hours = {0, 5, 11, 12, 20, 25, 30};
  CheckpointManager writer(temp / "c", {.max_to_keep = 0}, ignore);
  const auto now = fs::file_time_type::clock::now();
  for (std::size_t i = 0; i < hours.size(); ++i) {
    const auto step = static_cast<std::int64_t>(i + 1);
    writer.save(step, filled(weights(1)));
    fs::last_write_time(writer.path_of(step) / "state.json",
                        now - std::chrono::hours(100) + std::chrono::hours(hours[i]));
  }
  CheckpointManager manager(
      temp / "c", {.max_to_keep = 2, .keep_every = Interval(Duration(12 * 3600))}, ignore);
  manager.save(8, filled(weights(1)));
  // Hours 0, 12, 25 and now for their time; beside them the newest two, of the hours 20 and 30.
  CHECK(manager.steps() == Steps{1, 4, 5, 6, 7, 8});
}

TEST_CASE("an imported checkpoint survives the removal of its source") {
  test::TempDir temp;
  CheckpointManager source(temp / "a", {}, ignore);
  source.save(5, filled(weights(5)));
  CheckpointManager other(temp / "b", {.max_to_keep = 1}, ignore);
  other.adopt(5, source.path_of(5));
  source.remove(5);
  CHECK(weight_in(other.path_of(5)) == 5);
  CHECK(other.newest()->step() == 5);
  CHECK_THROWS_AS(other.adopt(6, source.path_of(5)), RunError);
  CHECK(other.steps() == Steps{5});
}

TEST_CASE("a damaged checkpoint of another process is not imported and replaces no intact one") {
  const test::TempDir temp;
  CheckpointManager source(temp / "a", {.max_to_keep = 0}, ignore);
  for (const std::int64_t step : {5, 6, 7}) source.save(step, filled(weights(5)));
  fs::resize_file(source.path_of(6) / "model.safetensors", 10);
  CheckpointManager other(temp / "b", {.max_to_keep = 1}, ignore);
  CHECK(other.adopt_if_whole(5, source.path_of(5)).empty());
  CHECK_THAT(other.adopt_if_whole(6, source.path_of(6)),
             Contains((source.path_of(6) / "model.safetensors").string() + " has 10 bytes"));
  CHECK_THAT(other.adopt_if_whole(8, source.path_of(7)), Contains("contains step 7"));
  CHECK(other.current() == 5);
  CHECK(fs::directory_iterator(temp / "b")->path() == other.path_of(5));
  CHECK(std::distance(fs::directory_iterator(temp / "b"), {}) == 1);
  CHECK_THROWS_WITH(other.adopt_if_whole(9, source.path_of(9)), Contains("no longer exists"));
  CHECK(other.adopt_if_whole(7, source.path_of(7)).empty());
  CHECK(other.steps() == Steps{7});
}

TEST_CASE("the best checkpoints are kept, strictly, NaN never") {
  struct Case {
    BestCheckpointConfig config;
    std::vector<double> values;
    const char* kept;  // at the time
    Steps left;
  };
  const std::vector<Case> cases = {
      {{"accuracy"}, {0.5, 0.4, 0.5, 0.6}, "10 40 ", {40}},
      {{"accuracy"}, {kNan, 0.1, kNan}, "20 ", {20}},
      {{"accuracy", Goal::min}, {0.5, 0.4, 0.4, 0.6}, "10 20 ", {20}},
      {{"accuracy", Goal::min}, {kNan, kNan}, "", {}},
      {{"accuracy", Goal::max, 2}, {0.1, 0.3, 0.2, 0.2, 0.4}, "10 20 30 50 ", {20, 50}},
      {{"accuracy", Goal::max, 3}, {0.5, 0.5, 0.5, 0.5}, "10 20 30 ", {10, 20, 30}},
      {{""}, {0.5}, "", {}},
  };
  for (const Case& c : cases) {
    test::TempDir temp;
    BestCheckpoints best(temp / "best", c.config, ignore);
    CHECK(offered(best, c.values) == c.kept);
    CHECK(steps_in(temp / "best") == c.left);
    CHECK(fs::exists(temp / "best") == !c.left.empty());
  }
}

TEST_CASE("the record of the best survives a restart") {
  test::TempDir temp;
  const BestCheckpointConfig config{"accuracy", Goal::max, 2};
  {
    BestCheckpoints best(temp / "best", config, ignore);
    CHECK(offered(best, {0.5, 0.9}) == "10 20 ");
  }
  BestCheckpoints again(temp / "best", config, ignore);
  REQUIRE(again.entries().size() == 2);
  CHECK(again.entries()[0].step == 20);
  CHECK(again.entries()[0].value == 0.9);
  CHECK(offered(again, {0.3, 0.6}, 30) == "40 ");
  CHECK(steps_in(temp / "best") == Steps{20, 40});
  CHECK(weight_in(temp / "best" / "step_00000020") == 0.9F);
  // The same evaluation again, as after a kill: nothing is kept twice.
  CHECK(offered(again, {0.9}, 20).empty());
}

TEST_CASE(
    "a step that is trained again is compared again, whether its weights are copied or written") {
  test::TempDir temp;
  CheckpointManager run(temp / "run", {}, ignore);
  for (const bool is_linked : {false, true}) {
    const fs::path directory = temp / (is_linked ? "linked" : "written");
    const auto source = [&](float weight) {
      if (!is_linked) return fs::path();
      run.outdate(20);
      return run.save(20, filled(weights(weight)))->path;
    };
    BestCheckpoints best(directory, {.metric = "accuracy", .keep = 2}, ignore);
    CHECK(offered(best, {0.5}) == "10 ");
    best.keep({20, 0.9}, source(0.9F), filled(weights(0.9F)));
    // The same evaluation again, as after a kill, changes nothing.
    CHECK_FALSE(best.wanted(20, accuracy(0.9)));
    REQUIRE(best.wanted(20, accuracy(0.4)) == 0.4);
    best.keep({20, 0.4}, source(0.4F), filled(weights(0.4F)));
    CHECK(weight_in(directory / "step_00000020") == 0.4F);
    const BestCheckpoints again(directory, {.metric = "accuracy", .keep = 2}, ignore);
    REQUIRE(again.entries().size() == 2);
    CHECK(again.entries()[0].step == 10);
    CHECK(again.entries()[1].step == 20);
    CHECK(again.entries()[1].value == 0.4);
  }
}

TEST_CASE("a missing best checkpoint is dropped with a warning") {
  test::TempDir temp;
  {
    BestCheckpoints best(temp / "best", {"accuracy"}, ignore);
    offered(best, {0.9});
  }
  fs::remove_all(temp / "best" / "step_00000010");
  std::string warned;
  BestCheckpoints best(temp / "best", {"accuracy"},
                       [&](const std::string& text) { warned += text; });
  CHECK_THAT(warned, Contains("step 10 is gone"));
  CHECK(offered(best, {0.1}, 20) == "20 ");
}

TEST_CASE("a record of another metric is an error, and a damaged one is rebuilt") {
  test::TempDir temp;
  {
    BestCheckpoints best(temp / "best", {"accuracy"}, ignore);
    offered(best, {0.9});
  }
  CHECK_THROWS_WITH(BestCheckpoints(temp / "best", {"loss", Goal::min}, ignore),
                    Contains("holds the best checkpoints by accuracy (goal max)"));
  for (const char* text : {"{}", "[", "{\"metric\": 1}", "{\"metric\": \"accuracy\"}"}) {
    replace_file(temp / "best" / "best.json", text, Durability::cached);
    std::string warned;
    BestCheckpoints best(temp / "best", {"accuracy"},
                         [&](const std::string& warning) { warned += warning; });
    CHECK_THAT(warned, Contains("best.json") && Contains("found by their manifests"));
    REQUIRE(best.entries().size() == 1);
    CHECK(best.entries()[0].step == 10);
    CHECK(best.entries()[0].value == 0.9);
    best.repair();
    warned.clear();
    const BestCheckpoints again(temp / "best", {"accuracy"},
                                [&](const std::string& warning) { warned += warning; });
    CHECK(warned.empty());
    CHECK(again.entries().size() == 1);
  }
}

TEST_CASE("a metric that the evaluation does not give is an error with the nearest name") {
  test::TempDir temp;
  BestCheckpoints best(temp / "best", {"acuracy"}, ignore);
  CHECK_THROWS_WITH(best.wanted(10, accuracy(0.5)),
                    Contains("no metric 'acuracy'") && Contains("accuracy"));
}

}  // namespace train_saving_test
