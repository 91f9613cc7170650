// SPDX-License-Identifier: Apache-2.0
// Action: runs after each training loop or after each evaluation. A config lists actions in
// trainer.train_actions and trainer.eval_actions; they run in that order.
//
// In a loop the metrics are written first, then the actions run, then the checkpoint is saved: an
// action that throws (a diverged loss) is seen with its numbers and leaves no bad checkpoint. A run
// that is killed and continued may run an action again for a step that it ran for before: make the
// second time harmless. What an action remembers between events belongs into save_state: the run
// continues with the state after the last event that counts. After Orbit's actions (Model Garden,
// orbit/actions), with one difference: periodic actions run when a boundary was crossed, so no
// choice of steps_per_loop skips one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/config/goal.h"
#include "trivet/config/value.h"
#include "trivet/object.h"
#include "trivet/train/logs.h"

namespace trivet {

class Action;
class Task;
class Trainer;

struct ActionConfig {};
TRIVET_CONFIG(ActionConfig, trivet::NoBase)

struct ActionEvent {
  std::int64_t step = 0;           // the global step
  std::int64_t previous_step = 0;  // at the event of this kind before; 0 at the first
  const Logs& logs;                // of the loop or the evaluation
  // Names of the sets of task.eval_inputs ("clothes/test" where one of several tasks has the set),
  // or "" for task.eval_input, that were not due.
  std::vector<std::string> skipped_sets = {};

  // Whether a multiple of `interval` lies in (previous_step, step].
  bool crossed(std::int64_t interval) const {
    return interval > 0 && step / interval > previous_step / interval;
  }
  // Whether a metric is missing only because its set was not due: "test/accuracy".
  TRIVET_API bool is_skipped(std::string_view metric) const;
};

// What an action's constructor gets. The references outlive the action.
struct ActionContext {
  Task& task;
  Trainer& trainer;
  std::filesystem::path directory;              // of the run
  std::function<void(const std::string&)> say;  // one line, to the screen and log.jsonl
  // Ends the training after the actions of the event. The run then evaluates, if its mode does,
  // saves, and ends as "done" with this reason (not empty). The first reason counts. Started again,
  // it stays at its end while the actions are those of the config that ended it. Call it in
  // Action::run only. Empty in a mode that does not train.
  std::function<void(const std::string& reason)> request_stop = {};
};

class TRIVET_API Action : public Object {
 public:
  static constexpr std::string_view kKind = "action";
  using Config = ActionConfig;
  using Context = ActionContext;

  ~Action() override;

  // An exception ends the run. [run-thread]
  virtual void run(const ActionEvent& event) = 0;

  // What the action remembers, after each event; null: nothing. restore_state gets it when the run
  // continues or goes back to an earlier step, and the state of the constructor when no event
  // counts any more. restore_state throws Error for a state that it cannot take. [run-thread]
  virtual Value save_state() const { return {}; }
  virtual void restore_state(const Value& state) { (void)state; }
};

using Actions = std::vector<std::unique_ptr<Action>>;

// The states of all, for an action that runs others; null if none has one.
TRIVET_API Value states_of(const Actions& actions);
// Throws Error if `states` is of another number of actions.
TRIVET_API void restore_states(const Actions& actions, const Value& states);

using Condition = std::function<bool(const ActionEvent&)>;

// Runs its actions when the condition holds.
class TRIVET_API ConditionalAction : public Action {
 public:
  ConditionalAction(Condition condition, Actions actions);
  ~ConditionalAction() override;
  void run(const ActionEvent& event) override;
  Value save_state() const override;
  void restore_state(const Value& state) override;

 private:
  Condition condition_;
  Actions actions_;
};

// Runs its actions when a multiple of `interval` steps was crossed since the last event.
class TRIVET_API PeriodicAction : public Action {
 public:
  PeriodicAction(std::int64_t interval, Actions actions);  // throws Error for an interval < 1
  ~PeriodicAction() override;
  void run(const ActionEvent& event) override;
  Value save_state() const override;
  void restore_state(const Value& state) override;

 private:
  std::int64_t interval_;
  Actions actions_;
};

// Whether a number is the best so far. NaN never is; the comparison is strict. Use it as the
// condition of a ConditionalAction, or call test() and commit() apart.
class TRIVET_API NewBestMetric {
 public:
  // With a `file` the best value survives the process: a JSON object {"metric", "value"}, replaced
  // whole. One that is empty or missing holds no value; one of another metric throws Error.
  NewBestMetric(std::string metric, Goal goal = Goal::max, std::filesystem::path file = {});

  // Tests, and commits a better one. False for a metric whose data set was not due.
  bool operator()(const ActionEvent& event);
  // Only compares. Throws Error when the metric is not among the logs.
  bool test(const Logs& logs) const;
  void commit(const Logs& logs);
  const std::string& metric() const { return metric_; }
  bool has_value() const { return has_value_; }
  double value() const { return value_; }  // while has_value()

 private:
  double number(const Logs& logs) const;

  std::string metric_;
  Goal goal_;
  std::filesystem::path file_;
  bool has_value_ = false;
  double value_ = 0;
};

// Numbered directories `base_name-ID` for what a run exports.
class TRIVET_API ExportDirectories {
 public:
  // Keeps the newest `max_to_keep`; less than 1 keeps all. `next_id` gives the numbers; by default
  // they count up from the largest there is.
  ExportDirectories(std::filesystem::path parent, std::string base_name,
                    std::int64_t max_to_keep = 5, std::function<std::int64_t()> next_id = {});

  // `fill` writes into a temporary directory, which then gets the next number, whole or not at all;
  // older ones are removed after that. Returns the new one.
  std::filesystem::path add(const std::function<void(const std::filesystem::path&)>& fill);

  // Directories named exactly base_name-DIGITS, ascending by number.
  std::vector<std::filesystem::path> managed() const;

 private:
  std::vector<std::int64_t> ids() const;
  std::filesystem::path path_of(std::int64_t id) const;

  std::filesystem::path parent_;
  std::string base_name_;
  std::int64_t max_to_keep_;
  std::function<std::int64_t()> next_id_;
};

}  // namespace trivet
