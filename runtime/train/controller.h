// SPDX-License-Identifier: Apache-2.0
// Controller: owns the loop of a run: trains, writes metrics, runs actions, saves, evaluates, in
// this order, each at fixed multiples of the global step. After Orbit's Controller (Model Garden),
// with absolute boundaries: a run that continues from any checkpoint writes the records of an
// uninterrupted run.
//
//   step 250 of a run with steps_per_loop 100, checkpoint_interval 250, validation_interval 500:
//   train to 300, metrics; to 400, metrics; to 500, metrics, checkpoint, evaluation; ...
//
// Each data set has its own interval. The sets that are due at a step are one evaluation with one
// record. The last step always gets metrics, a checkpoint and (train_and_evaluate) an evaluation of
// all sets, unless an action of an evaluation has ended the training; the first
// checkpoint comes at the first multiple of its interval. An interval in time counts from the start
// of the process and from the last save, on a monotonic clock. It interrupts training between any
// two steps, and a checkpoint is saved before every evaluation. With any interval, an evaluation
// that throws leaves a checkpoint of its step.
//
// An action may end the training: the run is then at its end as if train_steps were this step.
//
// If a step or save throws DivergedError, the run goes back to its newest checkpoint and drops
// later records. If it has already gone back to that checkpoint and saved nothing since, it goes
// back to the previous one and sets the later ones aside. A run that is asked to stop does not go
// back: it ends without a checkpoint of that step.
//
// A checkpoint may be written while training continues. A failed write ends the run before its next
// step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/process_info.h"
#include "checkpoint/best_checkpoints.h"
#include "checkpoint/checkpoint_manager.h"
#include "evaluation/eval_plan.h"
#include "train/action_list.h"
#include "trivet/train/logs.h"
#include "trivet/trainer.h"

namespace trivet {

// The part of TrainerConfig for the controller.
struct ControllerOptions {
  std::int64_t train_steps = 0;
  std::int64_t steps_per_loop = 100;
  EvalPlan evaluations;
  Interval checkpoint_interval;
  bool save_checkpoints = true;  // false: at no time
  // Saves a checkpoint before the first step, which a trainer that may throw DivergedError needs.
  bool checkpoint_at_start = false;
};

// Events of a controller. All calls come from the run thread.
class ControllerEvents {
 public:
  virtual ~ControllerEvents() = default;

  // The run continues from a checkpoint, or starts. `path` is empty if it starts.
  virtual void on_start(std::int64_t step, const std::filesystem::path& path) = 0;
  // The run went back to a checkpoint because of a bad step; `reason` describes it. Default:
  // on_start.
  virtual void on_recovered(std::int64_t step, const std::filesystem::path& path,
                            const std::string& reason) {
    (void)reason;
    on_start(step, path);
  }
  // The run stops at a step that is not saved; `reason` gives the cause.
  virtual void on_left_unsaved(std::int64_t step, const std::string& reason) = 0;
  // Before on_start, if the run continues: the additional state in the checkpoint.
  virtual void on_restored(const CheckpointReader& checkpoint) { (void)checkpoint; }
  // Whether the evaluation of this step is already recorded.
  virtual bool is_evaluated(std::int64_t step) const = 0;

  virtual void on_train_begin(std::int64_t step) = 0;
  virtual void on_train_end(std::int64_t step) = 0;
  virtual void on_train_logs(std::int64_t step, const Logs& logs) = 0;
  virtual void on_eval_begin(std::int64_t step) = 0;
  virtual void on_eval_logs(std::int64_t step, const Logs& logs) = 0;
  // All actions after an evaluation are done: record it.
  virtual void on_eval_done(std::int64_t step, const Logs& logs) = 0;
  virtual void on_save_begin(std::int64_t step) = 0;
  virtual void on_save_goes_on(std::int64_t step) = 0;  // training does, too
  virtual void on_saved(const SavedCheckpoint& saved) = 0;
  virtual void on_best(const BestCheckpoints::Entry& entry, const std::filesystem::path& path) = 0;
  // Additional state for a checkpoint.
  virtual void add_state(CheckpointWriter& writer) = 0;
  virtual void on_end_of_data(std::int64_t step) = 0;
  virtual bool must_stop() const = 0;
};

class Controller {
 public:
  enum class Outcome {
    done,     // the target, or the end of the data
    stopped,  // on request; all good state is saved
  };
  struct Parts {
    Trainer& trainer;
    CheckpointManager& checkpoints;
    ControllerEvents& events;
    BestCheckpoints* best = nullptr;      // may be null
    ActionList* train_actions = nullptr;  // may be null
    ActionList* eval_actions = nullptr;   // may be null
    std::function<double()> clock = steady_seconds;
  };

  // All parts must outlive the controller. Throws ConfigError for invalid options.
  Controller(Parts parts, ControllerOptions options);

  // Call this first, once: restores the newest checkpoint, or initializes.
  void restore_or_initialize();

  // Trains to options.train_steps, an absolute target. Does nothing if it is already reached.
  Outcome train();
  Outcome train_and_evaluate();
  // Evaluates the restored state once, on all sets. `source` is the checkpoint directory from which
  // best checkpoints are kept; empty: the trainer saves them.
  Outcome evaluate(const std::filesystem::path& source = {});

  // Why an action has ended the training at the trainer's step; nothing if none did.
  std::optional<std::string> stopped_by_action() const;

  // Whether the trainer should return at this step without a stop request: a checkpoint is due by
  // time, or one could not be written. [run-thread]
  bool wants_pause() const;

 private:
  enum class With { nothing, evaluation };

  Outcome run(With with);
  Outcome loop(With with);
  std::int64_t next_boundary(std::int64_t step, With with) const;
  bool is_due(std::int64_t step, std::int64_t interval) const;
  std::vector<EvalPlan::Set> due_sets(std::int64_t step) const;
  Outcome evaluate(const std::vector<EvalPlan::Set>& sets, const std::filesystem::path& source);
  std::vector<std::string> other_sets(const std::vector<EvalPlan::Set>& sets) const;
  bool is_save_due(std::int64_t step) const;
  bool train_to(std::int64_t boundary);
  bool holds(const std::function<void()>& work);
  Outcome stop_trained();
  Outcome evaluate_safely(std::int64_t step, const std::vector<EvalPlan::Set>& sets);
  void recover(const DivergedError& bad);
  std::unique_ptr<CheckpointDirectoryReader> checkpoint_to_try();
  void write_last_logs() noexcept;
  void save_after_failure(std::int64_t step) noexcept;
  void take_up(const CheckpointReader& checkpoint);
  void end_loop(std::int64_t step);
  void keep_if_best(const ActionEvent& event, const std::filesystem::path& source);
  void fill(CheckpointWriter& writer);
  void save(std::int64_t step);
  void save_and_wait(std::int64_t step);
  void report_saved();

  Parts parts_;
  const ControllerOptions options_;
  std::int64_t last_loop_ = 0, last_evaluation_ = 0;  // the last steps at which actions ran
  double last_save_ = 0;                              // time on the clock
  std::int64_t last_save_step_ = 0;
  std::optional<std::int64_t> recovered_to_;  // the step of the last recovery
};

}  // namespace trivet
