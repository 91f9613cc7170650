// SPDX-License-Identifier: Apache-2.0
// The order of calls to a task in each mode: the order of task.h, which is that of Model Garden's
// base_task.py (spec: build, restore or initialize, then steps), with all data opened first.
#include <memory>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "intervals.h"
#include "silent_events.h"
#include "support/recording_task.h"
#include "support/shell.h"
#include "support/task_calls.h"
#include "train/default_trainer.h"
#include "train_parts.h"
#include "trivet/plugin/registry.h"

namespace train_life_test {

using namespace trivet;
using test::evaluation_calls, test::kBuildEvaluation, test::kBuildLearner, test::kBuildTraining,
    test::kTrainStep;
namespace fs = std::filesystem;

namespace {

enum class Do { train, train_and_eval, eval };

std::string calls_of(Do what, std::int64_t steps, const fs::path& checkpoints) {
  test::register_parts();
  const auto device = test::open_tiny();
  TaskContext task_context{*device, {}};
  // Without prefetch, all calls are on this thread.
  const Value endless = Value::table({{"prefetch", 0}});
  const Value two = Value::table({{"prefetch", 0}, {"batches", 2}});
  std::string calls;
  test::RecordingTask task(decode<TaskConfig>(test::task_config(endless, two).fields()),
                           task_context, [&](const std::string& call) { calls += call + "\n"; });
  test::TestObserver observer;
  TrainerContext context{.task = task,
                         .device = *device,
                         .key = RngKey(1),
                         .train = what != Do::eval,
                         .eval = what != Do::train,
                         .observer = observer};
  TrainerConfig config = test::trainer_config();
  config.train_steps = steps;
  DefaultTrainer trainer(config, context);
  test::SilentEvents events;
  CheckpointManager manager(checkpoints, {}, [](const std::string&) {});
  Controller controller({.trainer = trainer, .checkpoints = manager, .events = events},
                        test::Intervals{.train_steps = steps, .steps_per_loop = 2});
  controller.restore_or_initialize();
  if (what == Do::train) controller.train();
  if (what == Do::train_and_eval) controller.train_and_evaluate();
  if (what == Do::eval) controller.evaluate();
  return calls;
}

}  // namespace

TEST_CASE("mode train builds only the training half and never evaluates") {
  test::TempDir temp;
  CHECK(calls_of(Do::train, 2, temp / "c") ==
        kBuildTraining + kBuildLearner + "initialize\n" + kTrainStep + kTrainStep);
}

TEST_CASE("mode train_and_eval builds the evaluation half before training") {
  test::TempDir temp;
  CHECK(calls_of(Do::train_and_eval, 2, temp / "c") == test::kTrainAndEvaluate);
}

TEST_CASE("mode eval builds no optimizer and no training data") {
  test::TempDir temp;
  CHECK(calls_of(Do::eval, 0, temp / "c") ==
        "build_model\n" + kBuildEvaluation + "initialize\n" + evaluation_calls(0));
}

TEST_CASE("a run that has a checkpoint is never initialized") {
  test::TempDir temp;
  calls_of(Do::train, 2, temp / "c");
  CHECK(calls_of(Do::train, 3, temp / "c").find("initialize") == std::string::npos);
  CHECK(calls_of(Do::eval, 0, temp / "c") ==
        "build_model\n" + kBuildEvaluation + evaluation_calls(3));
  // A finished run evaluates its state without a step.
  CHECK(calls_of(Do::train_and_eval, 3, temp / "c") ==
        kBuildTraining + kBuildEvaluation + kBuildLearner + evaluation_calls(3));
}

}  // namespace train_life_test
