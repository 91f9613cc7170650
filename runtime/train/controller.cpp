// SPDX-License-Identifier: Apache-2.0
#include "train/controller.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "trivet/error.h"
#include "trivet/schema.h"

namespace trivet {
namespace {

std::int64_t next_multiple(std::int64_t step, std::int64_t interval) {
  return (step / interval + 1) * interval;
}

void check(const ControllerOptions& options) {
  const auto fail = [](const char* field, std::string what) {
    throw ConfigError(Problem{.path = std::string("trainer.") + field, .what = std::move(what)});
  };
  if (options.train_steps < 0) fail("train_steps", "must be at least 0");
  if (options.steps_per_loop < 1) fail("steps_per_loop", "must be at least 1");
  if (options.validation_steps < -1 || options.validation_steps == 0) {
    fail("validation_steps", "must be at least 1, or -1 for all batches");
  }
  if (options.validation_interval < 0) fail("validation_interval", "must be at least 0");
  if (options.checkpoint_interval < 0) fail("checkpoint_interval", "must be at least 0");
}

}  // namespace

Controller::Controller(Trainer& trainer, CheckpointManager& checkpoints, ControllerEvents& events,
                       ControllerOptions options)
    : trainer_(trainer), checkpoints_(checkpoints), events_(events), options_(options) {
  check(options_);
}

void Controller::restore_or_initialize() {
  if (const auto checkpoint = checkpoints_.newest()) {
    trainer_.restore(*checkpoint);
    if (trainer_.global_step() != checkpoint->step()) {
      throw RunError(fmt::format("the trainer is at step {} after restoring {}",
                                 trainer_.global_step(), checkpoint->description()));
    }
    events_.on_start(trainer_.global_step(), checkpoint->description());
    return;
  }
  events_.on_start(trainer_.global_step(), {});
  trainer_.initialize();
}

Controller::Outcome Controller::train() {
  return run(With::nothing);
}

Controller::Outcome Controller::train_and_evaluate() {
  return run(With::evaluation);
}

Controller::Outcome Controller::run(With with) {
  if (options_.train_steps == 0) {
    throw ConfigError(Problem{.path = "trainer.train_steps",
                              .what = "is 0: there is nothing to train",
                              .hint = "set it, or use mode = \"eval\""});
  }
  const bool evaluates = with == With::evaluation;
  std::int64_t step = trainer_.global_step();
  bool ended = false;  // the target, or the end of the data
  bool fresh = false;  // this process has trained
  while (true) {
    ended = ended || step >= options_.train_steps;
    // What a process before this one left undone comes first: a kill may have hit the evaluation.
    const bool eval_due = evaluates && (ended || is_due(step, options_.validation_interval)) &&
                          step > 0 && !events_.is_evaluated(step);
    if (events_.stop_requested() && (eval_due || !ended)) {
      if (fresh) save(step);
      return Outcome::stopped;
    }
    if (eval_due && evaluate() == Outcome::stopped) {
      if (fresh) save(step);
      return Outcome::stopped;
    }
    if (ended) return Outcome::done;

    const std::int64_t boundary = next_boundary(step, with);
    train_to(boundary);
    fresh = fresh || trainer_.global_step() > step;
    step = trainer_.global_step();
    if (step < boundary && trainer_.exhausted()) {
      ended = true;
      events_.on_end_of_data(step);
    } else if (step < boundary) {
      save(step);
      return Outcome::stopped;
    }
    ended = ended || step >= options_.train_steps;
    if (ended || is_due(step, options_.steps_per_loop)) {
      if (const Logs logs = trainer_.train_logs(); !logs.empty()) {
        events_.on_train_logs(step, logs);
      }
    }
    if (ended || is_due(step, options_.checkpoint_interval)) save(step);
  }
}

// A step at which something happens: the trainer is not interrupted between two of them.
std::int64_t Controller::next_boundary(std::int64_t step, With with) const {
  std::int64_t boundary =
      std::min(options_.train_steps, next_multiple(step, options_.steps_per_loop));
  if (options_.checkpoint_interval > 0) {
    boundary = std::min(boundary, next_multiple(step, options_.checkpoint_interval));
  }
  if (with == With::evaluation && options_.validation_interval > 0) {
    boundary = std::min(boundary, next_multiple(step, options_.validation_interval));
  }
  return boundary;
}

bool Controller::is_due(std::int64_t step, std::int64_t interval) const {
  return interval > 0 && step % interval == 0;
}

void Controller::train_to(std::int64_t boundary) {
  const std::int64_t before = trainer_.global_step();
  events_.on_train_begin(before);
  trainer_.train(boundary);
  const std::int64_t step = trainer_.global_step();
  events_.on_train_end(step);
  const bool may_stop_early = trainer_.exhausted() || events_.stop_requested();
  if (step > boundary || step < before || (step < boundary && !may_stop_early)) {
    throw RunError(fmt::format("the trainer was asked to train from step {} to {} and is at {}",
                               before, boundary, step),
                   {.hint = "Trainer::train counts every step in global_step()"});
  }
}

Controller::Outcome Controller::evaluate() {
  const std::int64_t step = trainer_.global_step();
  events_.on_eval_begin(step);
  const Logs logs = trainer_.evaluate(options_.validation_steps);
  if (logs.empty() && events_.stop_requested()) return Outcome::stopped;
  events_.on_eval_logs(step, logs);
  return Outcome::done;
}

void Controller::save(std::int64_t step) {
  events_.on_save_begin(step);
  const auto saved = checkpoints_.save(step, [&](CheckpointWriter& writer) {
    trainer_.save(writer);
    events_.add_state(writer);
  });
  if (saved) events_.on_saved(*saved);
}

}  // namespace trivet
