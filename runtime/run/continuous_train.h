// SPDX-License-Identifier: Apache-2.0
// ContinuousTrain: starts a short training run from each checkpoint of another run, such as
// fine-tuning during pretraining. Follows task.init_checkpoint, a run's directory.
//
//   from_step_00001000/     a complete run that started from the checkpoint of step 1000
//   source/step_00002000/   hard links to the checkpoint in use: its run may remove it
//   metrics.jsonl           the final evaluation of each run, at its start step
//
// It ends when the followed run's status.json says that it is done, or when no checkpoint arrives
// within trainer.continuous_eval_timeout. After a restart it first finishes the started run. Based
// on Model Garden's continuous_finetune_lib, which uses one directory for all runs and so keeps
// only the last.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/stop_signals.h"
#include "checkpoint/checkpoint_manager.h"
#include "checkpoint/checkpoint_watch.h"
#include "run/run_command.h"
#include "run/run_view.h"
#include "rundir/event_log.h"
#include "rundir/metrics_log.h"
#include "rundir/run_directory.h"
#include "rundir/status_file.h"
#include "trivet/trainer.h"

namespace trivet {

// Throws ConfigError if no run to follow is set.
void check_continuous_train(const ResolvedConfig& config);

class ContinuousTrain {
 public:
  ContinuousTrain(const RunRequest& request, const RunDirectory& directory,
                  const TrainerConfig& fields, const StopSignals& signals, RunView& view);

  // Returns the exit code.
  int run();

 private:
  int work();
  int train_from(std::int64_t step);
  RunRequest request_for(std::int64_t step) const;
  void note(const std::string& text);
  void warn(const std::string& text);

  const RunRequest& request_;
  const RunDirectory& directory_;
  const TrainerConfig& fields_;
  const StopSignals& signals_;
  RunView& view_;
  MetricsLog metrics_;
  EventLog log_;
  StatusFile status_;
  CheckpointManager source_;
  CheckpointWatch watch_;
};

}  // namespace trivet
