// SPDX-License-Identifier: Apache-2.0
// The controller's schedule: the events of each step, and that a run that is stopped anywhere and
// continued has the same events.
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "intervals.h"
#include "silent_events.h"
#include "support/shell.h"
#include "trivet/error.h"

using namespace trivet;
using Catch::Contains;
using test::Intervals;
namespace fs = std::filesystem;

namespace {

// Counts steps. Its logs contain the steps since the last logs, so that lost steps are noticed.
class CountingTrainer final : public Trainer {
 public:
  std::int64_t global_step() const override { return step_; }
  void train(std::int64_t target) override {
    while (step_ < target) {
      if (step_ == data_end) exhausted_ = true;
      if (step_ == stop_at) stop = true;
      if (exhausted_ || stop) return;
      if (step_ == stuck_at) return;
      if (step_ == fail_at) throw RunError("no step");
      ++step_;
      ++since_logs_;
    }
  }
  Logs train_logs() override {
    Logs logs;
    if (since_logs_ > 0) logs.set("steps", static_cast<double>(since_logs_));
    since_logs_ = 0;
    return logs;
  }
  bool exhausted() const override { return exhausted_; }
  Logs evaluate(std::int64_t steps) override {
    Logs logs;
    if (fail_in_eval_at == step_) throw RunError("no evaluation");
    if (stop_in_eval_at == step_) stop = true;
    if (!stop) logs.set("asked", static_cast<double>(steps));
    return logs;
  }
  void initialize() override { initialized = true; }
  void save(CheckpointWriter& writer) override {
    writer.state("trainer", Value::table({{"step", step_}, {"since", since_logs_}}));
  }
  void restore(const CheckpointReader& reader) override {
    step_ = reader.state("trainer").find("step")->as_integer();
    since_logs_ = reader.state("trainer").find("since")->as_integer();
  }
  ParameterStore& parameters() override { throw Error("there are none"); }

  std::int64_t data_end = -1, stop_at = -1, stop_in_eval_at = -1, stuck_at = -1;
  std::int64_t fail_in_eval_at = -1, fail_at = -1;
  bool stop = false, initialized = false;

 private:
  std::int64_t step_ = 0, since_logs_ = 0;
  bool exhausted_ = false;
};

// The events as words: t = training logs, e = evaluation, c = checkpoint, with the step; t also
// with its number of steps.
class Journal final : public test::SilentEvents {
 public:
  explicit Journal(const CountingTrainer& trainer) : trainer_(trainer) {}

  void on_start(std::int64_t step, const fs::path& path) override {
    started = step;
    from = path;
    std::erase_if(metrics, [&](const auto& record) { return record.first > step; });
  }
  bool is_evaluated(std::int64_t step) const override {
    return metrics.contains({step, "e" + std::to_string(step)});
  }
  void on_train_logs(std::int64_t step, const Logs& logs) override {
    add(step, "t" + std::to_string(step) + "(" +
                  std::to_string(static_cast<int>(*logs.find("steps"))) + ")");
  }
  void on_eval_logs(std::int64_t step, const Logs& logs) override {
    eval_steps = *logs.find("asked");
    text += "e" + std::to_string(step) + " ";
  }
  void on_eval_done(std::int64_t step, const Logs&) override {
    CHECK(metrics.insert({step, "e" + std::to_string(step)}).second);
  }
  void on_saved(const SavedCheckpoint& saved) override {
    text += "c" + std::to_string(saved.step) + " ";
  }
  void on_best(const BestCheckpoints::Entry& entry, const fs::path&) override {
    text += "b" + std::to_string(entry.step) + " ";
  }
  void on_end_of_data(std::int64_t step) override { text += "end" + std::to_string(step) + " "; }
  bool must_stop() const override { return trainer_.stop; }

  std::string text;
  std::set<std::pair<std::int64_t, std::string>> metrics;  // as in metrics.jsonl
  std::int64_t started = -1;
  fs::path from;
  double eval_steps = 0;

 private:
  void add(std::int64_t step, const std::string& what) {
    text += what + " ";
    CHECK(metrics.insert({step, what}).second);  // no duplicates
  }
  const CountingTrainer& trainer_;
};

enum class Do { train, train_and_evaluate, evaluate };

struct Outcome {
  std::string text;
  Controller::Outcome outcome;
};

// One process of a run in `directory`; `metrics` are those of the processes before it.
Outcome run(const fs::path& directory, Do what, Intervals options,
            std::set<std::pair<std::int64_t, std::string>>* metrics = nullptr,
            const std::function<void(CountingTrainer&)>& prepare = {}) {
  CountingTrainer trainer;
  if (prepare) prepare(trainer);
  Journal journal(trainer);
  if (metrics != nullptr) journal.metrics = *metrics;
  CheckpointManager checkpoints(directory, {.max_to_keep = 0}, [](const std::string&) {});
  Controller controller({trainer, checkpoints, journal}, options);
  controller.restore_or_initialize();
  CHECK(trainer.initialized == journal.from.empty());
  Outcome result{.text = "", .outcome = Controller::Outcome::done};
  if (what == Do::train) result.outcome = controller.train();
  if (what == Do::train_and_evaluate) result.outcome = controller.train_and_evaluate();
  if (what == Do::evaluate) result.outcome = controller.evaluate();
  result.text = journal.text;
  if (metrics != nullptr) *metrics = journal.metrics;
  return result;
}

std::string run_fresh(Do what, Intervals options,
                      const std::function<void(CountingTrainer&)>& prepare = {}) {
  test::TempDir temp;
  return run(temp.path(), what, options, nullptr, prepare).text;
}

}  // namespace

TEST_CASE("metrics, checkpoints and evaluations come at multiples of their intervals") {
  struct Case {
    Do what;
    Intervals options;
    const char* expected;
  };
  // Field order: train_steps, steps_per_loop, validation_steps, validation_interval,
  // checkpoint_interval.
  const std::vector<Case> cases = {
      {Do::train, {10, 10, -1, 0, 0}, "t10(10) c10 "},
      {Do::train, {10, 4, -1, 0, 0}, "t4(4) t8(4) t10(2) c10 "},
      {Do::train, {10, 100, -1, 0, 0}, "t10(10) c10 "},
      {Do::train, {10, 4, -1, 0, 5}, "t4(4) c5 t8(4) t10(2) c10 "},
      {Do::train, {10, 4, -1, 0, 4}, "t4(4) c4 t8(4) c8 t10(2) c10 "},
      {Do::train, {6, 1, -1, 0, 3}, "t1(1) t2(1) t3(1) c3 t4(1) t5(1) t6(1) c6 "},
      {Do::train, {10, 5, -1, 2, 0}, "t5(5) t10(5) c10 "},  // train does not evaluate
      {Do::train_and_evaluate, {10, 5, -1, 0, 0}, "t5(5) t10(5) c10 e10 "},
      {Do::train_and_evaluate, {10, 5, -1, 5, 0}, "t5(5) e5 t10(5) c10 e10 "},
      {Do::train_and_evaluate, {10, 5, -1, 4, 0}, "e4 t5(5) e8 t10(5) c10 e10 "},
      {Do::train_and_evaluate, {10, 5, -1, 4, 6}, "e4 t5(5) c6 e8 t10(5) c10 e10 "},
      {Do::train_and_evaluate, {9, 5, -1, 5, 0}, "t5(5) e5 t9(4) c9 e9 "},
      {Do::train_and_evaluate, {8, 8, -1, 4, 4}, "c4 e4 t8(8) c8 e8 "},
      // An interval in time that never passes: only evaluations cause saves.
      {Do::train_and_evaluate, {8, 8, -1, 4, Duration(3600)}, "c4 e4 t8(8) c8 e8 "},
      {Do::evaluate, {0, 1, 7, 0, 0}, "e0 "},
  };
  for (const Case& c : cases) {
    INFO(c.expected);
    CHECK(run_fresh(c.what, c.options) == c.expected);
  }
}

TEST_CASE("a run stopped anywhere and continued writes the records of an uninterrupted one") {
  const Intervals options{23, 5, -1, 7, 4};
  std::set<std::pair<std::int64_t, std::string>> expected;
  {
    test::TempDir temp;
    run(temp.path(), Do::train_and_evaluate, options, &expected);
  }
  for (std::int64_t stop = 0; stop <= 23; ++stop) {
    for (const bool in_eval : {false, true}) {
      INFO("stop at " << stop << (in_eval ? " in evaluation" : ""));
      test::TempDir temp;
      std::set<std::pair<std::int64_t, std::string>> metrics;
      const auto first =
          run(temp.path(), Do::train_and_evaluate, options, &metrics,
              [&](CountingTrainer& t) { (in_eval ? t.stop_in_eval_at : t.stop_at) = stop; });
      const bool evaluates_there = stop == 23 || (stop > 0 && stop % 7 == 0);
      const bool stops = in_eval ? evaluates_there : stop < 23;
      CHECK((first.outcome == Controller::Outcome::stopped) == stops);
      const auto second = run(temp.path(), Do::train_and_evaluate, options, &metrics);
      CHECK(second.outcome == Controller::Outcome::done);
      CHECK(metrics == expected);
    }
  }
}

TEST_CASE("a run killed anywhere and continued writes the records of an uninterrupted one") {
  const Intervals options{23, 5, -1, 7, 4};
  std::set<std::pair<std::int64_t, std::string>> expected, metrics;
  test::TempDir whole;
  run(whole.path(), Do::train_and_evaluate, options, &expected);
  for (const std::int64_t checkpoint : {4, 8, 12, 16, 20, 23}) {
    // A kill leaves the records of all steps done and the checkpoints up to one of them. Records of
    // the killed process after the checkpoint are removed, so they do not matter here.
    INFO("killed after the checkpoint of step " << checkpoint);
    for (const bool eval_was_done : {true, false}) {
      test::TempDir temp;
      for (const std::int64_t step : {4, 8, 12, 16, 20, 23}) {
        const fs::path name = fs::path("step_000000") += (step < 10 ? "0" : "");
        const std::string full = name.string() + std::to_string(step);
        if (step <= checkpoint) {
          fs::copy(whole.path() / full, temp.path() / full, fs::copy_options::recursive);
        }
      }
      metrics = expected;
      if (!eval_was_done) metrics.erase({checkpoint, "e" + std::to_string(checkpoint)});
      run(temp.path(), Do::train_and_evaluate, options, &metrics);
      CHECK(metrics == expected);
    }
  }
}

TEST_CASE("the target is absolute") {
  test::TempDir temp;
  CHECK(run(temp.path(), Do::train, {10, 4, -1, 0, 0}).text == "t4(4) t8(4) t10(2) c10 ");
  CHECK(run(temp.path(), Do::train, {10, 4, -1, 0, 0}).text.empty());
  CHECK(run(temp.path(), Do::train, {9, 4, -1, 0, 0}).text.empty());
  CHECK(run(temp.path(), Do::train, {14, 4, -1, 0, 0}).text == "t12(2) t14(2) c14 ");
}

TEST_CASE("a finished run is not evaluated again, but a missing evaluation is done") {
  test::TempDir temp;
  const Intervals options{10, 5, -1, 0, 0};
  std::set<std::pair<std::int64_t, std::string>> metrics;
  run(temp.path(), Do::train_and_evaluate, options, &metrics);
  CHECK(run(temp.path(), Do::train_and_evaluate, options, &metrics).text.empty());
  metrics.erase({10, "e10"});
  CHECK(run(temp.path(), Do::train_and_evaluate, options, &metrics).text == "e10 ");
}

TEST_CASE("the end of the data ends a run as its target does") {
  const auto ends_at_7 = [](CountingTrainer& trainer) { trainer.data_end = 7; };
  CHECK(run_fresh(Do::train_and_evaluate, {10, 5, -1, 0, 0}, ends_at_7) ==
        "t5(5) end7 t7(2) c7 e7 ");
  CHECK(run_fresh(Do::train, {10, 7, -1, 0, 0}, ends_at_7) == "t7(7) end7 c7 ");
}

TEST_CASE("an evaluation gets as many batches as configured") {
  test::TempDir temp;
  CountingTrainer trainer;
  Journal journal(trainer);
  CheckpointManager checkpoints(temp.path(), {}, [](const std::string&) {});
  Controller({trainer, checkpoints, journal}, Intervals{0, 1, 7, 0, 0}).evaluate();
  CHECK(journal.eval_steps == 7);
}

TEST_CASE("an evaluation that throws leaves a checkpoint of the trained state") {
  for (const Interval interval : {Interval(0), Interval(3), Interval(Duration(3600))}) {
    test::TempDir temp;
    const auto failing = [](CountingTrainer& trainer) { trainer.fail_in_eval_at = 4; };
    CHECK_THROWS_WITH(
        run(temp.path(), Do::train_and_evaluate, {8, 8, -1, 4, interval}, nullptr, failing),
        Contains("no evaluation"));
    CHECK(fs::exists(temp / "step_00000004"));
    CHECK(run(temp.path(), Do::train_and_evaluate, {8, 8, -1, 4, 0}).text.starts_with("e4 "));
  }
}

TEST_CASE("the metrics of the steps before one that throws are written") {
  test::TempDir temp;
  CountingTrainer trainer;
  trainer.fail_at = 7;
  Journal journal(trainer);
  CheckpointManager checkpoints(temp.path(), {.max_to_keep = 0}, [](const std::string&) {});
  Controller controller({trainer, checkpoints, journal}, Intervals{10, 5, -1, 0, 0});
  controller.restore_or_initialize();
  CHECK_THROWS_WITH(controller.train(), Contains("no step"));
  CHECK(journal.text == "t5(5) t7(2) ");
}

TEST_CASE("each recovery without a save in between goes one checkpoint further back") {
  class Diverging final : public test::SilentEvents {
   public:
    void on_recovered(std::int64_t step, const fs::path&, const std::string&) override {
      text += std::to_string(step) + " ";
    }
    std::string text;
  };
  class Unlucky final : public Trainer {
   public:
    std::int64_t global_step() const override { return step_; }
    void train(std::int64_t target) override {
      while (step_ < target) {
        if (step_ == 6 && bad-- > 0) throw DivergedError("bad");
        ++step_;
      }
    }
    Logs train_logs() override { return {}; }
    bool exhausted() const override { return false; }
    Logs evaluate(std::int64_t) override { return {}; }
    void initialize() override {}
    void save(CheckpointWriter& writer) override { writer.state("step", step_); }
    void restore(const CheckpointReader& reader) override {
      step_ = reader.state("step").as_integer();
    }
    ParameterStore& parameters() override { throw Error("there are none"); }
    int bad = 4;

   private:
    std::int64_t step_ = 0;
  };
  test::TempDir temp;
  Unlucky trainer;
  Diverging events;
  CheckpointManager checkpoints(temp.path(), {.max_to_keep = 0}, [](const std::string&) {});
  Intervals options{8, 8, -1, 0, 2};
  options.checkpoint_at_start = true;
  Controller controller({trainer, checkpoints, events}, options);
  controller.restore_or_initialize();
  CHECK(controller.train() == Controller::Outcome::done);
  // From 4 it reaches 6 again, where a checkpoint is saved, which is tried first.
  CHECK(events.text == "6 4 6 4 ");
  CHECK(checkpoints.steps() == std::vector<std::int64_t>{0, 2, 4, 6, 8});
  // The skipped later checkpoints are intact and kept.
  CHECK(fs::exists(temp / "diverged_step_00000006" / "manifest.json"));
  CHECK(fs::exists(temp / "diverged_step_00000006.2"));
}

TEST_CASE("a trainer that does not count its steps is an error") {
  CHECK_THROWS_WITH(run_fresh(Do::train, {10, 4, -1, 0, 0},
                              [](CountingTrainer& trainer) { trainer.stuck_at = 6; }),
                    Contains("from step 4 to 8 and is at 6"));
}

TEST_CASE("invalid options are named") {
  const auto message = [](Intervals options, Do what = Do::train) {
    try {
      run_fresh(what, options);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK_THAT(message({0, 1, -1, 0, 0}), Contains("trainer.train_steps"));
  CHECK_THAT(message({-1, 1, -1, 0, 0}), Contains("trainer.train_steps"));
  CHECK_THAT(message({1, 0, -1, 0, 0}), Contains("trainer.steps_per_loop"));
  CHECK_THAT(message({1, 1, 0, 0, 0}), Contains("trainer.validation_steps"));
  CHECK_THAT(message({1, 1, -2, 0, 0}), Contains("trainer.validation_steps"));
  CHECK_THAT(message({1, 1, -1, -1, 0}), Contains("trainer.validation_interval"));
  CHECK_THAT(message({1, 1, -1, 0, -1}), Contains("trainer.checkpoint_interval"));
}
