// SPDX-License-Identifier: Apache-2.0
// Controller: owns the loop of a run: trains, writes metrics, saves, evaluates, in this order, each
// at fixed multiples of the global step. After Orbit's Controller (Model Garden), with absolute
// boundaries: a run that continues from any checkpoint writes the records it would have written
// undisturbed.
//
//   step 250 of a run with steps_per_loop 100, checkpoint_interval 250, validation_interval 500:
//   train to 300, metrics; to 400, metrics; to 500, metrics, checkpoint, evaluation; ...
//
// The last step always gets metrics, a checkpoint and (train_and_evaluate) an evaluation.
#pragma once

#include <cstdint>
#include <filesystem>

#include "train/checkpoint_manager.h"
#include "trivet/logs.h"
#include "trivet/trainer.h"

namespace trivet {

// The part of TrainerConfig that is the controller's.
struct ControllerOptions {
  std::int64_t train_steps = 0;
  std::int64_t steps_per_loop = 100;
  std::int64_t validation_steps = -1;
  std::int64_t validation_interval = 0;
  std::int64_t checkpoint_interval = 0;
};

// What a controller tells while it works. All calls come from the run thread.
class ControllerEvents {
 public:
  virtual ~ControllerEvents() = default;

  // The run continues from a checkpoint, or starts. `path` is empty when it starts.
  virtual void on_start(std::int64_t step, const std::filesystem::path& path) = 0;
  // Whether the evaluation of this step is already on record.
  virtual bool is_evaluated(std::int64_t step) const = 0;

  virtual void on_train_begin(std::int64_t step) = 0;
  virtual void on_train_end(std::int64_t step) = 0;
  virtual void on_train_logs(std::int64_t step, const Logs& logs) = 0;
  virtual void on_eval_begin(std::int64_t step) = 0;
  virtual void on_eval_logs(std::int64_t step, const Logs& logs) = 0;
  virtual void on_save_begin(std::int64_t step) = 0;
  virtual void on_saved(const SavedCheckpoint& saved) = 0;
  // More state for a checkpoint.
  virtual void add_state(CheckpointWriter& writer) = 0;
  virtual void on_end_of_data(std::int64_t step) = 0;
  virtual bool stop_requested() const = 0;
};

class Controller {
 public:
  enum class Outcome {
    done,     // the target, or the end of the data
    stopped,  // on request, with everything saved
  };

  // All arguments must outlive the controller. Throws ConfigError for options that make no sense.
  Controller(Trainer& trainer, CheckpointManager& checkpoints, ControllerEvents& events,
             ControllerOptions options);

  // Once, first: the newest checkpoint, or the task's starting values.
  void restore_or_initialize();

  // To options.train_steps, an absolute target: nothing happens when it is reached already.
  Outcome train();
  Outcome train_and_evaluate();
  Outcome evaluate();

 private:
  enum class With { nothing, evaluation };

  Outcome run(With with);
  std::int64_t next_boundary(std::int64_t step, With with) const;
  bool is_due(std::int64_t step, std::int64_t interval) const;
  void train_to(std::int64_t boundary);
  void save(std::int64_t step);

  Trainer& trainer_;
  CheckpointManager& checkpoints_;
  ControllerEvents& events_;
  const ControllerOptions options_;
};

}  // namespace trivet
