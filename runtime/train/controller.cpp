// SPDX-License-Identifier: Apache-2.0
#include "train/controller.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "trivet/config/schema.h"
#include "trivet/error.h"
#include "trivet/tensor/profile.h"

namespace trivet {
namespace {

std::int64_t next_multiple(std::int64_t step, std::int64_t interval) {
  return (step / interval + 1) * interval;
}

void check(const ControllerOptions& options) {
  const auto fail = [](const char* field, std::string what) {
    throw ConfigError(Diagnostic{.path = std::string("trainer.") + field, .what = std::move(what)});
  };
  if (options.train_steps < 0) fail("train_steps", "must be at least 0");
  if (options.steps_per_loop < 1) fail("steps_per_loop", "must be at least 1");
  for (const EvalPlan::Set& set : options.evaluations.sets) {
    if (!set.is_main()) continue;
    if (set.steps < -1 || set.steps == 0) {
      fail("validation_steps", "must be at least 1, or -1 for all batches");
    }
    if (set.interval < 0) fail("validation_interval", "must be at least 0");
  }
  if (options.checkpoint_interval.steps < 0 || options.checkpoint_interval.time.seconds < 0) {
    fail("checkpoint_interval", "must be at least 0");
  }
}

}  // namespace

Controller::Controller(Parts parts, ControllerOptions options)
    : parts_(std::move(parts)), options_(options) {
  check(options_);
}

void Controller::restore_or_initialize() {
  Trainer& trainer = parts_.trainer;
  if (const auto checkpoint = parts_.checkpoints.look()) {
    trainer.restore(*checkpoint);
    const std::int64_t step = trainer.global_step();
    if (step != checkpoint->step()) {
      throw RunError(fmt::format("the trainer is at step {} after restoring {}", step,
                                 checkpoint->description()));
    }
    // Only now: a config that does not fit these weights is rejected and changes nothing.
    parts_.checkpoints.set_aside_damaged();
    parts_.events.on_restored(*checkpoint);
    parts_.events.on_start(step, checkpoint->description());
    take_up(*checkpoint);
    return;
  }
  parts_.events.on_start(trainer.global_step(), {});
  trainer.initialize();
}

void Controller::take_up(const CheckpointReader& checkpoint) {
  last_loop_ = last_evaluation_ = 0;
  if (checkpoint.has_state("controller")) {
    const Value& state = checkpoint.state("controller");
    if (const Value* last = state.find("loop")) last_loop_ = last->as_integer();
    if (const Value* last = state.find("evaluation")) last_evaluation_ = last->as_integer();
  }
  const std::int64_t step = parts_.trainer.global_step();
  if (parts_.events.is_evaluated(step)) last_evaluation_ = step;
}

Controller::Outcome Controller::train() {
  return run(With::nothing);
}

Controller::Outcome Controller::train_and_evaluate() {
  return run(With::evaluation);
}

Controller::Outcome Controller::run(With with) {
  if (options_.train_steps == 0) {
    throw ConfigError(Diagnostic{.path = "trainer.train_steps",
                                 .what = "is 0: nothing to train",
                                 .hint = "set it, or use mode = \"eval\""});
  }
  last_save_ = parts_.clock();
  last_save_step_ = parts_.trainer.global_step();
  if (options_.checkpoint_at_start && !parts_.checkpoints.current()) save(last_save_step_);
  const Outcome outcome = loop(with);
  parts_.checkpoints.wait();
  report_saved();
  return outcome;
}

Controller::Outcome Controller::loop(With with) {
  Trainer& trainer = parts_.trainer;
  ControllerEvents& events = parts_.events;
  const bool evaluates = with == With::evaluation;
  std::int64_t step = trainer.global_step();
  bool ended = false;  // the target, or the end of the data
  bool fresh = false;  // whether this process has trained
  while (true) {
    report_saved();
    ended = ended || step >= options_.train_steps || stopped_by_action();
    // First completes the work of an earlier process: it may have been killed during an evaluation.
    const std::vector<EvalPlan::Set> due = ended ? options_.evaluations.sets : due_sets(step);
    const bool eval_due = evaluates && !due.empty() && step > 0 && !events.is_evaluated(step);
    const auto stop = [&] { return fresh ? stop_trained() : Outcome::stopped; };
    if (events.must_stop() && (eval_due || !ended)) return stop();
    Outcome evaluated = Outcome::done;
    const auto go_back = [&] {
      step = trainer.global_step();
      ended = false;
    };
    if (eval_due && !holds([&] { evaluated = evaluate_safely(step, due); })) {
      go_back();
      continue;
    }
    if (evaluated == Outcome::stopped) return stop();
    if (!ended && stopped_by_action()) {
      ended = true;
      if (step > last_save_step_ && !holds([&] { save(step); })) {
        go_back();
        continue;
      }
    }
    if (ended) return Outcome::done;

    const std::int64_t boundary = next_boundary(step, with);
    if (!train_to(boundary)) {
      go_back();
      continue;
    }
    fresh = fresh || trainer.global_step() > step;
    step = trainer.global_step();
    if (step < boundary && trainer.exhausted()) {
      ended = true;
      events.on_end_of_data(step);
    } else if (step < boundary && events.must_stop()) {
      return stop_trained();
    }
    ended = ended || step >= options_.train_steps;
    if (ended || is_due(step, options_.steps_per_loop)) end_loop(step);
    ended = ended || stopped_by_action();
    if ((ended || is_save_due(step)) && !holds([&] { save(step); })) go_back();
  }
}

std::optional<std::string> Controller::stopped_by_action() const {
  const std::int64_t step = parts_.trainer.global_step();
  for (const ActionList* const actions : {parts_.train_actions, parts_.eval_actions}) {
    if (actions == nullptr) continue;
    if (auto reason = actions->stopped_at(step)) return reason;
  }
  return std::nullopt;
}

// Returns false if the run went back to a checkpoint instead.
bool Controller::holds(const std::function<void()>& work) {
  try {
    work();
    return true;
  } catch (const DivergedError& bad) {
    recover(bad);
    return false;
  }
}

// Does not save weights that are not worth it: the run continues from the checkpoint before them,
// and may recover then.
Controller::Outcome Controller::stop_trained() {
  const std::int64_t step = parts_.trainer.global_step();
  if (!options_.save_checkpoints) {
    parts_.events.on_left_unsaved(step, "trainer.save_checkpoints is false");
    return Outcome::stopped;
  }
  try {
    save_and_wait(step);
  } catch (const DivergedError& bad) {
    parts_.events.on_left_unsaved(step, bad.message());
  }
  return Outcome::stopped;
}

// The next step with an event: the trainer runs without interruption until then, except for a
// pause.
std::int64_t Controller::next_boundary(std::int64_t step, With with) const {
  std::int64_t boundary =
      std::min(options_.train_steps, next_multiple(step, options_.steps_per_loop));
  if (options_.save_checkpoints && options_.checkpoint_interval.steps > 0) {
    boundary = std::min(boundary, next_multiple(step, options_.checkpoint_interval.steps));
  }
  for (const EvalPlan::Set& set : options_.evaluations.sets) {
    if (with == With::evaluation && set.interval > 0) {
      boundary = std::min(boundary, next_multiple(step, set.interval));
    }
  }
  return boundary;
}

bool Controller::is_due(std::int64_t step, std::int64_t interval) const {
  return interval > 0 && step % interval == 0;
}

std::vector<EvalPlan::Set> Controller::due_sets(std::int64_t step) const {
  std::vector<EvalPlan::Set> due;
  for (const EvalPlan::Set& set : options_.evaluations.sets) {
    if (is_due(step, set.interval)) due.push_back(set);
  }
  return due;
}

bool Controller::is_save_due(std::int64_t step) const {
  if (!options_.save_checkpoints) return false;
  const Interval& interval = options_.checkpoint_interval;
  if (!interval.is_time()) return is_due(step, interval.steps);
  return step > last_save_step_ && parts_.clock() - last_save_ >= interval.time.seconds;
}

bool Controller::wants_pause() const {
  if (parts_.checkpoints.failed()) return true;
  return options_.checkpoint_interval.is_time() && is_save_due(parts_.trainer.global_step());
}

// Returns false if the run went back to a checkpoint instead.
bool Controller::train_to(std::int64_t boundary) {
  Trainer& trainer = parts_.trainer;
  const std::int64_t before = trainer.global_step();
  parts_.events.on_train_begin(before);
  try {
    trainer.train(boundary);
  } catch (const DivergedError& bad) {
    parts_.events.on_train_end(trainer.global_step());
    recover(bad);
    return false;
  } catch (const Error&) {
    write_last_logs();
    throw;
  }
  const std::int64_t step = trainer.global_step();
  parts_.events.on_train_end(step);
  report_saved();  // throws if that is why the trainer returned
  const bool may_stop_early = trainer.exhausted() || parts_.events.must_stop() || wants_pause();
  if (step > boundary || step < before || (step < boundary && !may_stop_early)) {
    throw RunError(fmt::format("the trainer had to train from step {} to {} and is at {}", before,
                               boundary, step),
                   {.hint = "Trainer::train counts every step in global_step()"});
  }
  return true;
}

// The metrics of the steps before the failed one, whose error is reported.
void Controller::write_last_logs() noexcept {
  try {
    const Logs logs = parts_.trainer.train_logs();
    if (!logs.empty()) parts_.events.on_train_logs(parts_.trainer.global_step(), logs);
  } catch (const std::exception&) {
  }
}

std::unique_ptr<CheckpointDirectoryReader> Controller::checkpoint_to_try() {
  CheckpointManager& checkpoints = parts_.checkpoints;
  if (!recovered_to_ || checkpoints.current() != recovered_to_) return checkpoints.newest();
  std::unique_ptr<CheckpointDirectoryReader> earlier;
  try {
    earlier = checkpoints.newest(*recovered_to_);
  } catch (const UnusableCheckpoint&) {
    // Newer checkpoints are damaged; this one is intact.
  }
  if (earlier == nullptr) return checkpoints.newest();
  for (const std::int64_t step : checkpoints.steps()) {
    if (step > earlier->step()) checkpoints.leave(step);
  }
  return earlier;
}

void Controller::recover(const DivergedError& bad) {
  parts_.checkpoints.wait();
  report_saved();  // reports a failed save before anything is moved
  const auto checkpoint = checkpoint_to_try();
  if (checkpoint == nullptr) {
    throw RunError(bad.message() + ", and no checkpoint exists to go back to", bad.details());
  }
  parts_.trainer.recover(*checkpoint);
  recovered_to_ = checkpoint->step();
  last_save_step_ = parts_.trainer.global_step();
  parts_.events.on_recovered(last_save_step_, checkpoint->description(), bad.message());
  take_up(*checkpoint);
}

void Controller::end_loop(std::int64_t step) {
  const Logs logs = parts_.trainer.train_logs();
  if (logs.empty()) return;
  parts_.events.on_train_logs(step, logs);
  if (parts_.train_actions != nullptr) {
    parts_.train_actions->run({.step = step, .previous_step = last_loop_, .logs = logs});
  }
  last_loop_ = step;
}

// Saves before an evaluation that may fail, according to the interval, or else after it has failed.
Controller::Outcome Controller::evaluate_safely(std::int64_t step,
                                                const std::vector<EvalPlan::Set>& sets) {
  if (step > last_save_step_ && options_.checkpoint_interval.is_time()) save(step);
  const ProfileSpan span("evaluate");
  try {
    return evaluate(sets, {});
  } catch (const DivergedError&) {
    throw;
  } catch (...) {
    if (step > last_save_step_) save_after_failure(step);
    throw;
  }
}

// The failure itself is reported.
void Controller::save_after_failure(std::int64_t step) noexcept {
  try {
    save_and_wait(step);
  } catch (const std::exception&) {
  }
}

Controller::Outcome Controller::evaluate(const std::filesystem::path& source) {
  return evaluate(options_.evaluations.sets, source);
}

Controller::Outcome Controller::evaluate(const std::vector<EvalPlan::Set>& sets,
                                         const std::filesystem::path& source) {
  const std::int64_t step = parts_.trainer.global_step();
  parts_.events.on_eval_begin(step);
  Logs logs;
  for (const EvalPlan::Set& set : sets) {
    const Logs own = set.is_main() ? parts_.trainer.evaluate(set.steps)
                                   : parts_.trainer.evaluate_set(set.index, set.steps);
    if (own.empty() && parts_.events.must_stop()) return Outcome::stopped;
    for (const auto& [name, value] : own) {
      logs.set(set.is_main() ? name : set.name + "/" + name, value);
    }
  }
  parts_.events.on_eval_logs(step, logs);
  const ActionEvent event{.step = step,
                          .previous_step = last_evaluation_,
                          .logs = logs,
                          .skipped_sets = other_sets(sets)};
  if (parts_.eval_actions != nullptr) parts_.eval_actions->run(event);
  keep_if_best(event, source);
  parts_.events.on_eval_done(step, logs);
  // Only now: a checkpoint saved after a failure above was not evaluated.
  last_evaluation_ = step;
  return Outcome::done;
}

std::vector<std::string> Controller::other_sets(const std::vector<EvalPlan::Set>& sets) const {
  std::vector<std::string> others;
  for (const std::string& name : options_.evaluations.names) {
    const bool is_due = std::any_of(sets.begin(), sets.end(),
                                    [&](const EvalPlan::Set& set) { return set.name == name; });
    if (!is_due) others.push_back(name);
  }
  return others;
}

void Controller::keep_if_best(const ActionEvent& event, const std::filesystem::path& source) {
  const std::int64_t step = event.step;
  if (parts_.best == nullptr || event.is_skipped(parts_.best->metric())) return;
  const std::optional<double> value = parts_.best->wanted(step, event.logs);
  if (!value) return;
  std::filesystem::path from = source;
  if (from.empty()) {
    // The checkpoint of this step, if it exists, is linked instead of written again.
    parts_.checkpoints.wait();
    report_saved();
    if (parts_.checkpoints.current() == step) from = parts_.checkpoints.path_of(step);
  }
  const BestCheckpoints::Entry entry{step, *value};
  const auto path =
      parts_.best->keep(entry, from, [this](CheckpointWriter& writer) { fill(writer); });
  parts_.events.on_best(entry, path);
}

void Controller::fill(CheckpointWriter& writer) {
  parts_.trainer.save(writer);
  writer.state("controller",
               Value::table({{"loop", last_loop_}, {"evaluation", last_evaluation_}}));
  parts_.events.add_state(writer);
}

void Controller::save(std::int64_t step) {
  if (!options_.save_checkpoints) return;
  const ProfileSpan span("save");
  parts_.events.on_save_begin(step);
  parts_.checkpoints.begin_save(step, [this](CheckpointWriter& writer) { fill(writer); });
  last_save_ = parts_.clock();
  last_save_step_ = step;
  parts_.events.on_save_goes_on(step);
  report_saved();
}

void Controller::save_and_wait(std::int64_t step) {
  save(step);
  parts_.checkpoints.wait();
  report_saved();
}

void Controller::report_saved() {
  for (const SavedCheckpoint& saved : parts_.checkpoints.take_saved()) {
    parts_.events.on_saved(saved);
  }
}

}  // namespace trivet
