// SPDX-License-Identifier: Apache-2.0
// Summaries of steps: when the trainer requests them, their contents, and that they change no
// results.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "train/default_trainer.h"
#include "train_parts.h"
#include "trivet/plugin/registry.h"

using namespace trivet;

namespace {

struct Seen {
  std::string group;
  std::int64_t step = 0;
  Summaries summaries;
};

class SummaryObserver final : public test::TestObserver {
 public:
  bool wants_summaries() const override { return wants; }
  void on_summaries(std::string_view group, std::int64_t step,
                    const Summaries& summaries) override {
    seen.push_back({std::string(group), step, summaries});
  }

  bool wants = true;
  std::vector<Seen> seen;
};

// Training to step 7, then an evaluation.
struct TrainedRun {
  explicit TrainedRun(const TrainerConfig& config, bool wants = true) {
    test::register_parts();
    device = test::open_tiny();
    observer.wants = wants;
    TaskContext task_context{*device, {}};
    task = make(test::task_config(), task_context);
    TrainerContext context{
        .task = *task, .device = *device, .key = RngKey(1), .observer = observer};
    trainer = std::make_unique<DefaultTrainer>(config, context);
    trainer->initialize();
    trainer->train(7);
    trainer->evaluate(-1);
  }

  std::unique_ptr<Device> device;
  std::unique_ptr<Task> task;
  SummaryObserver observer;
  std::unique_ptr<DefaultTrainer> trainer;
};

TrainerConfig config_with(std::int64_t interval, bool histograms) {
  TrainerConfig config = test::trainer_config();
  config.summary_interval = interval;
  config.summary_histograms = histograms;
  return config;
}

const Summaries::Entry& entry_of(const Summaries& summaries, const std::string& name) {
  const auto& entries = summaries.entries();
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& entry) { return entry.name == name; });
  REQUIRE(found != entries.end());
  return *found;
}

}  // namespace

TEST_CASE("summaries are written at multiples of the interval and for each evaluation") {
  const TrainedRun run(config_with(3, false));
  std::vector<std::string> seen;
  for (const Seen& one : run.observer.seen) {
    seen.push_back(one.group + std::to_string(one.step));
  }
  CHECK(seen == std::vector<std::string>{"train3", "train6", "eval7"});
}

TEST_CASE(
    "a task and its model add summaries, in training and in the first batch of an evaluation") {
  const TrainedRun run(config_with(6, false));
  REQUIRE(run.observer.seen.size() == 2);
  // The model records the current step, which is the number of earlier steps.
  CHECK(std::get<double>(entry_of(run.observer.seen[0].summaries, "line/step").content) == 5);
  const Summaries& eval = run.observer.seen[1].summaries;
  CHECK(std::get<double>(entry_of(eval, "line/step").content) == 7);
  CHECK(eval.entries().size() == 1);
}

TEST_CASE("histograms cover every weight after the step and its gradient") {
  const TrainedRun run(config_with(7, true));
  REQUIRE_FALSE(run.observer.seen.empty());
  const Summaries& summaries = run.observer.seen[0].summaries;
  const float w = run.trainer->parameters().find("w")->value().item();
  const auto& weight = std::get<Histogram>(entry_of(summaries, "weights/w").content);
  CHECK(weight.count == 1);
  CHECK(weight.min == static_cast<double>(w));
  const auto& gradient = std::get<Histogram>(entry_of(summaries, "gradients/w").content);
  CHECK(gradient.count == 1);
  CHECK(gradient.sum != 0);
  CHECK(entry_of(summaries, "gradients/b").name == "gradients/b");
}

TEST_CASE("unused summaries are not computed") {
  CHECK(TrainedRun(config_with(1, true), false).observer.seen.empty());
  CHECK(TrainedRun(config_with(0, false)).observer.seen.empty());
}

TEST_CASE("summaries of a step in parts are those of the first part") {
  TrainerConfig config = config_with(7, false);
  config.gradient_accumulation = 2;
  const TrainedRun run(config);
  REQUIRE(run.observer.seen.size() == 2);
  CHECK(run.observer.seen[0].summaries.entries().size() == 1);
}

TEST_CASE("summaries change no bit of the training") {
  const TrainedRun plain(config_with(0, false));
  const TrainedRun summarized(config_with(1, true));
  CHECK(plain.observer.losses == summarized.observer.losses);
  CHECK(plain.trainer->parameters().find("w")->value().item() ==
        summarized.trainer->parameters().find("w")->value().item());
}
