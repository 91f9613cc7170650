// SPDX-License-Identifier: Apache-2.0
// Scenarios of a run, each with its events in order and the remaining checkpoints: restarts,
// changed intervals, failing saves, time, best checkpoints, actions.
//
// t = metrics of a loop (with the number of steps in it), x = a training action, c = a checkpoint
// is on the disk, e = an evaluation, y = an evaluation's action, b = a best checkpoint, end = the
// data ended, r = back to a checkpoint after a bad step, u = a step that is not saved at a stop, S
// = stopped, ! = an error.
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "intervals.h"
#include "silent_events.h"
#include "support/shell.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace train_scenarios_test {

using namespace trivet;
using Catch::Contains;
using test::Intervals;
namespace fs = std::filesystem;

namespace {

double number(std::int64_t step) {
  return static_cast<double>(step);
}

struct Script {
  std::int64_t data_end = -1, stop_at = -1;
  std::function<double(std::int64_t step)> accuracy = [](std::int64_t) { return 0.5; };
  std::function<void(std::int64_t step)> at_step = [](std::int64_t) {};
  std::function<void(std::int64_t step)> at_save = [](std::int64_t) {};
};

class ScriptedTrainer final : public Trainer {
 public:
  explicit ScriptedTrainer(Script script) : script_(std::move(script)) {}
  std::int64_t global_step() const override { return step_; }
  void train(std::int64_t target) override {
    while (step_ < target) {
      exhausted_ = step_ == script_.data_end;
      stop = stop || step_ == script_.stop_at;
      if (exhausted_ || stop || (pause && pause())) return;
      ++step_;
      ++since_logs_;
      script_.at_step(step_);
    }
  }
  Logs train_logs() override {
    Logs logs;
    if (since_logs_ > 0) logs.set("steps", static_cast<double>(since_logs_));
    since_logs_ = 0;
    return logs;
  }
  bool exhausted() const override { return exhausted_; }
  Logs evaluate(std::int64_t) override {
    Logs logs;
    ++evaluations;
    logs.set("accuracy", script_.accuracy(step_));
    return logs;
  }
  void initialize() override {}
  void save(CheckpointWriter& writer) override {
    script_.at_save(step_);
    writer.state("trainer", Value::table({{"step", step_}, {"since", since_logs_}}));
  }
  void restore(const CheckpointReader& reader) override {
    step_ = reader.state("trainer").find("step")->as_integer();
    since_logs_ = reader.state("trainer").find("since")->as_integer();
  }
  ParameterStore& parameters() override { throw Error("there are none"); }

  std::function<bool()> pause;
  bool stop = false;
  std::int64_t evaluations = 0;

 private:
  Script script_;
  std::int64_t step_ = 0, since_logs_ = 0;
  bool exhausted_ = false;
};

using Records = std::set<std::pair<std::int64_t, std::string>>;

class Teller final : public test::SilentEvents {
 public:
  Teller(const ScriptedTrainer& trainer, Records& records) : trainer_(trainer), records_(records) {}
  void on_start(std::int64_t step, const fs::path&) override {
    std::erase_if(records_, [&](const auto& record) { return record.first > step; });
  }
  void on_recovered(std::int64_t step, const fs::path& path, const std::string& reason) override {
    on_start(step, path);
    tell("r" + std::to_string(step));
    reasons += reason + "\n";
  }
  void on_left_unsaved(std::int64_t step, const std::string& reason) override {
    tell("u" + std::to_string(step));
    reasons += reason + "\n";
  }
  bool is_evaluated(std::int64_t step) const override { return records_.contains({step, "e"}); }
  void on_train_logs(std::int64_t step, const Logs& logs) override {
    tell("t" + std::to_string(step) + "(" + std::to_string(static_cast<int>(*logs.find("steps"))) +
         ")");
  }
  void on_eval_logs(std::int64_t step, const Logs&) override { tell("e" + std::to_string(step)); }
  void on_eval_done(std::int64_t step, const Logs&) override { records_.insert({step, "e"}); }
  void on_saved(const SavedCheckpoint& saved) override { tell("c" + std::to_string(saved.step)); }
  void on_best(const BestCheckpoints::Entry& entry, const fs::path&) override {
    tell("b" + std::to_string(entry.step));
  }
  void on_end_of_data(std::int64_t step) override { tell("end" + std::to_string(step)); }
  bool must_stop() const override { return trainer_.stop; }
  void tell(const std::string& what) { text += what + " "; }

  std::string text, reasons;

 private:
  const ScriptedTrainer& trainer_;
  Records& records_;
};

enum class Do { train, train_and_eval, eval };

struct Process {
  Do what = Do::train_and_eval;
  Intervals options;
  CheckpointOptions keep;
  BestCheckpointConfig best;
  Script script;
  double seconds_per_step = 0, seconds_per_evaluation = 0;  // on the controller's clock
};

// A run's directory and its processes in sequence.
class Story {
 public:
  fs::path checkpoints() const { return temp_.path() / "checkpoints"; }

  std::string go(const Process& process) {
    ScriptedTrainer trainer(process.script);
    Teller teller(trainer, records_);
    const auto ignore = [](const std::string&) {};
    CheckpointManager manager(checkpoints(), process.keep, ignore);
    BestCheckpoints best(temp_.path() / "best", process.best, ignore);
    Controller controller({.trainer = trainer,
                           .checkpoints = manager,
                           .events = teller,
                           .best = &best,
                           .clock =
                               [&] {
                                 return process.seconds_per_step * number(trainer.global_step()) +
                                        process.seconds_per_evaluation *
                                            number(trainer.evaluations);
                               }},
                          process.options);
    trainer.pause = [&] { return controller.wants_pause(); };
    try {
      controller.restore_or_initialize();
      const auto outcome = process.what == Do::train            ? controller.train()
                           : process.what == Do::train_and_eval ? controller.train_and_evaluate()
                                                                : controller.evaluate();
      if (outcome == Controller::Outcome::stopped) teller.tell("S");
    } catch (const RunError& failure) {
      error = failure.what();
      teller.tell("!");
    }
    reasons = teller.reasons;
    return teller.text;
  }

  std::vector<std::int64_t> left() const { return steps_in(checkpoints()); }
  std::vector<std::int64_t> best() const { return steps_in(temp_.path() / "best"); }

  std::string error, reasons;  // of the last process; reasons: for going back

 private:
  static std::vector<std::int64_t> steps_in(const fs::path& directory) {
    return CheckpointManager(directory, {}, nullptr).steps();
  }
  test::TempDir temp_;
  Records records_;
};

using Steps = std::vector<std::int64_t>;

Process process(Intervals options, CheckpointOptions keep = {.max_to_keep = 0}) {
  return {.options = options, .keep = keep, .best = {}, .script = {}};
}

}  // namespace

// Fields of the options: train_steps, steps_per_loop, validation_steps, validation_interval,
// checkpoint_interval.
TEST_CASE("1: a run from start to end") {
  Story story;
  CHECK(story.go(process({10, 5, -1, 5, 5})) == "t5(5) c5 e5 t10(5) c10 e10 ");
  CHECK(story.left() == Steps{5, 10});
}

TEST_CASE("2: without an interval only the final checkpoint is saved") {
  Story story;
  CHECK(story.go(process({10, 3, -1, 0, 0})) == "t3(3) t6(3) t9(3) t10(1) c10 e10 ");
  CHECK(story.left() == Steps{10});
}

TEST_CASE("3: the target is already reached") {
  Story story;
  story.go(process({10, 5, -1, 5, 5}));
  CHECK(story.go(process({10, 5, -1, 5, 5})).empty());
  CHECK(story.go(process({7, 5, -1, 5, 5})).empty());
  CHECK(story.left() == Steps{5, 10});
}

TEST_CASE("4: a stop in the middle of a loop, and its continuation") {
  Story story;
  Process first = process({10, 5, -1, 5, 5});
  first.script.stop_at = 7;
  CHECK(story.go(first) == "t5(5) c5 e5 c7 S ");
  CHECK(story.go(process({10, 5, -1, 5, 5})) == "t10(5) c10 e10 ");
  CHECK(story.left() == Steps{5, 7, 10});
}

TEST_CASE("5: a stop before the first step") {
  Story story;
  Process first = process({10, 5, -1, 5, 5});
  first.script.stop_at = 0;
  CHECK(story.go(first) == "c0 S ");
  CHECK(story.left() == Steps{0});
  CHECK(story.go(process({10, 5, -1, 0, 0})) == "t5(5) t10(5) c10 e10 ");
}

TEST_CASE("6: another checkpoint interval after a restart") {
  Story story;
  story.go(process({6, 3, -1, 0, 3}));
  CHECK(story.go(process({12, 3, -1, 0, 4})) == "c8 t9(3) t12(3) c12 e12 ");
  CHECK(story.left() == Steps{3, 6, 8, 12});
}

TEST_CASE("7: another loop length after a restart in the middle of one") {
  Story story;
  Process first = process({20, 10, -1, 0, 0});
  first.script.stop_at = 7;
  CHECK(story.go(first) == "c7 S ");
  CHECK(story.go(process({20, 8, -1, 0, 0})) == "t8(8) t16(8) t20(4) c20 e20 ");
}

TEST_CASE("8: another evaluation interval after a restart") {
  Story story;
  story.go(process({10, 5, -1, 5, 5}));
  CHECK(story.go(process({20, 5, -1, 4, 0})) == "e12 t15(5) e16 t20(5) c20 e20 ");
}

TEST_CASE("9: a larger target continues, a finished run is evaluated once") {
  Story story;
  story.go(process({5, 5, -1, 0, 0}));
  CHECK(story.go(process({9, 5, -1, 0, 0})) == "t9(4) c9 e9 ");
  CHECK(story.go(process({9, 5, -1, 0, 0})).empty());
}

TEST_CASE("10: the data ends before the target") {
  Story story;
  Process first = process({100, 5, -1, 5, 5});
  first.script.data_end = 8;
  CHECK(story.go(first) == "t5(5) c5 e5 end8 t8(3) c8 e8 ");
  CHECK(story.left() == Steps{5, 8});
}

TEST_CASE("11: only the newest are kept, and multiples of keep_every") {
  Story story;
  story.go(process({20, 5, -1, 0, 2}, {.max_to_keep = 2, .keep_every = 6}));
  CHECK(story.left() == Steps{6, 12, 16, 18, 20});
  // The next process has its own rules.
  story.go(process({21, 5, -1, 0, 0}, {.max_to_keep = 1}));
  CHECK(story.left() == Steps{21});
}

TEST_CASE("12: the best metric is NaN first") {
  Story story;
  Process run = process({20, 5, -1, 5, 0}, {.max_to_keep = 1});
  run.best = {"accuracy"};
  run.script.accuracy = [](std::int64_t step) { return step == 5 ? std::nan("") : 0.25; };
  CHECK(story.go(run) == "t5(5) e5 t10(5) e10 b10 t15(5) e15 t20(5) c20 e20 ");
  CHECK(story.best() == Steps{10});
  CHECK(story.left() == Steps{20});
}

TEST_CASE("13: the best checkpoint is not lost to worse ones after a restart") {
  Story story;
  Process run = process({10, 5, -1, 5, 5});
  run.best = {"accuracy"};
  run.script.accuracy = [](std::int64_t) { return 0.9; };
  CHECK(story.go(run) == "t5(5) c5 e5 b5 t10(5) c10 e10 ");
  run.options.train_steps = 20;
  run.script.accuracy = [](std::int64_t step) { return step == 20 ? 0.95 : 0.5; };
  CHECK(story.go(run) == "t15(5) c15 e15 t20(5) c20 e20 b20 ");
  CHECK(story.best() == Steps{20});
}

TEST_CASE("14: the two best by a number that should be low") {
  Story story;
  Process run = process({25, 5, -1, 5, 0});
  run.best = {"accuracy", Goal::min, 2};
  run.script.accuracy = [](std::int64_t step) { return number(step % 10) + 1 / number(step); };
  // 5.2, 0.1, 5.07, 0.05, 5.04
  CHECK(story.go(run) ==
        "t5(5) e5 b5 t10(5) e10 b10 t15(5) e15 b15 t20(5) e20 b20 t25(5) c25 e25 ");
  CHECK(story.best() == Steps{10, 20});
}

TEST_CASE("15: a save fails once") {
  for (const bool async : {false, true}) {
    Story story;
    Process run = process({5, 5, -1, 0, 5}, {.max_to_keep = 0, .async = async});
    story.go(run);
    run.options.train_steps = 20;
    // At step 8 a file blocks the directory of checkpoints and stays.
    run.script.at_step = [&](std::int64_t step) {
      if (step != 8) return;
      fs::rename(story.checkpoints(), story.checkpoints().string() + ".away");
      write_file(story.checkpoints(), "", Durability::cached);
    };
    const std::string told = story.go(run);
    if (!async) CHECK(told == "t10(5) ! ");
    CHECK_THAT(told, Catch::EndsWith("! "));
    CHECK_THAT(told, Contains("t10(5)") && !Contains("c10") && !Contains("t20"));
    CHECK_THAT(story.error, Contains("checkpoint of step 10 not saved") &&
                                Contains("step_00000005 is unchanged"));
    fs::remove(story.checkpoints());
    fs::rename(story.checkpoints().string() + ".away", story.checkpoints());
    run.script.at_step = [](std::int64_t) {};
    CHECK(story.left() == Steps{5});
    const std::string again = story.go(run);
    CHECK_THAT(again, Contains("t10(5)") && Contains("c10") && Contains("c20 ") && Contains("e20"));
    CHECK(story.left() == Steps{5, 10, 15, 20});
  }
}

TEST_CASE("16: checkpoints by time come between any two steps") {
  Story story;
  // A step takes 10 s, a checkpoint is due every 35 s: after 4 steps, wherever loops end.
  Process run = process({10, 5, -1, 0, Interval(Duration(35))});
  run.seconds_per_step = 10;
  CHECK(story.go(run) == "c4 t5(5) c8 t10(5) c10 e10 ");
  CHECK(story.left() == Steps{4, 8, 10});
  // The clock restarts with the process, from its step on.
  run.options.train_steps = 16;
  CHECK(story.go(run) == "c14 t15(5) t16(1) c16 e16 ");
}

TEST_CASE("17: a time shorter than a step saves once per step and continues") {
  Story story;
  Process run = process({3, 3, -1, 0, Interval(Duration(0.5))});
  run.seconds_per_step = 1;
  CHECK(story.go(run) == "c1 c2 t3(3) c3 e3 ");
}

TEST_CASE("18: evaluation alone writes no checkpoint") {
  Story story;
  story.go(process({10, 5, -1, 0, 5}));
  Process run = process({10, 5, -1, 0, 5});
  run.what = Do::eval;
  CHECK(story.go(run) == "e10 ");
  CHECK(story.left() == Steps{5, 10});
}

TEST_CASE("19: training alone never evaluates, evaluation makes up for it") {
  Story story;
  Process run = process({10, 5, -1, 5, 5});
  run.what = Do::train;
  CHECK(story.go(run) == "t5(5) c5 t10(5) c10 ");
  run.what = Do::train_and_eval;
  CHECK(story.go(run) == "e10 ");
}

TEST_CASE("20: the newest checkpoint is damaged") {
  Story story;
  story.go(process({10, 5, -1, 0, 5}));
  fs::resize_file(story.checkpoints() / "step_00000010" / "state.json", 3);
  CHECK(story.go(process({10, 5, -1, 0, 5})) == "t10(5) c10 e10 ");
  CHECK(story.left() == Steps{5, 10});
}

namespace {

// A process that may go back, with a trainer that diverges at these steps, once each.
Process diverging(Intervals options, std::set<std::int64_t> at) {
  Process process{.options = options, .keep = {.max_to_keep = 0}, .best = {}, .script = {}};
  process.options.checkpoint_at_start = true;
  process.script.at_step = [at](std::int64_t step) mutable {
    if (at.erase(step) > 0) throw DivergedError("bad at " + std::to_string(step));
  };
  return process;
}

}  // namespace

TEST_CASE("21: a bad step takes the run back to its newest checkpoint") {
  Story story;
  CHECK(story.go(diverging({10, 5, -1, 5, 5}, {8})) == "c0 t5(5) c5 e5 r5 t10(5) c10 e10 ");
  CHECK(story.reasons == "bad at 8\n");
  CHECK(story.left() == Steps{0, 5, 10});
}

TEST_CASE("22: a bad step before the first interval takes the run back to its start") {
  Story story;
  CHECK(story.go(diverging({10, 5, -1, 0, {}}, {3, 7})) == "c0 r0 t5(5) r0 t5(5) t10(5) c10 e10 ");
}

TEST_CASE("23: a bad step in the middle of a loop that started before the checkpoint") {
  Story story;
  CHECK(story.go(diverging({10, 2, -1, 6, 5}, {8})) ==
        "c0 t2(2) t4(2) c5 t6(2) e6 r5 t6(2) e6 t8(2) t10(2) c10 e10 ");
}

TEST_CASE(
    "24: a bad step after a restart takes the run back to the checkpoint of the first process") {
  Story story;
  Process first = diverging({10, 5, -1, 0, 5}, {});
  first.script.stop_at = 7;
  CHECK(story.go(first) == "c0 t5(5) c5 c7 S ");
  CHECK(story.go(diverging({10, 5, -1, 0, 5}, {9})) == "r7 t10(5) c10 e10 ");
}

TEST_CASE("25: a bad step with no checkpoint at all is an error") {
  Story story;
  Process process = diverging({10, 5, -1, 0, 5}, {3});
  process.options.checkpoint_at_start = false;
  CHECK(story.go(process) == "! ");
  CHECK_THAT(story.error, Contains("bad at 3, and no checkpoint exists to go back to"));
}

TEST_CASE("26: an evaluation longer than the checkpoint interval saves no step again") {
  Story story;
  Process run = process({4, 2, -1, 2, Interval(Duration(15))});
  run.seconds_per_step = 10;
  run.seconds_per_evaluation = 100;
  CHECK(story.go(run) == "t2(2) c2 e2 c3 t4(2) c4 e4 ");
}

TEST_CASE("27: the best step has its own checkpoint, or only older ones exist") {
  Story story;
  Process run = process({20, 5, -1, 5, 10});
  run.best = {"accuracy", Goal::max, 4};
  run.script.accuracy = [](std::int64_t step) { return number(step); };
  CHECK(story.go(run) == "t5(5) e5 b5 t10(5) c10 e10 b10 t15(5) e15 b15 t20(5) c20 e20 b20 ");
  CHECK(story.best() == Steps{5, 10, 15, 20});
}

TEST_CASE("28: a stop at a bad step ends there and does not go back") {
  Story story;
  Process first = diverging({10, 5, -1, 0, 5}, {});
  first.script.stop_at = 7;
  first.script.at_save = [](std::int64_t step) {
    if (step == 7) throw DivergedError("the weights are bad");
  };
  CHECK(story.go(first) == "c0 t5(5) c5 u7 S ");
  CHECK(story.reasons == "the weights are bad\n");
  CHECK(story.left() == Steps{0, 5});
  CHECK(story.go(diverging({10, 5, -1, 0, 5}, {})) == "t10(5) c10 e10 ");
}

TEST_CASE("29: the best step is compared again after it is trained again") {
  Story story;
  Process run = diverging({15, 5, -1, 5, 10}, {12});
  run.options.checkpoint_interval = 15;
  run.best = {"accuracy", Goal::max, 2};
  run.script.accuracy = [times = 0](std::int64_t step) mutable {
    return step == 10 ? 0.9 - 0.3 * times++ : 0.7;
  };
  CHECK(story.go(run) ==
        "c0 t5(5) e5 b5 t10(5) e10 b10 r0 t5(5) e5 t10(5) e10 b10 t15(5) c15 e15 b15 ");
  CHECK(story.best() == Steps{5, 15});
}

}  // namespace train_scenarios_test
