// SPDX-License-Identifier: Apache-2.0
// RunSession: one process's work on one run directory. Builds task and trainer, continues or
// starts, runs the mode and writes config.toml, status.json and summary.json.
#pragma once

#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/stop_signals.h"
#include "checkpoint/best_checkpoints.h"
#include "checkpoint/checkpoint_manager.h"
#include "processes/follower_writers.h"
#include "processes/overlap_tuner.h"
#include "profile/step_profile.h"
#include "run/run_command.h"
#include "run/run_recorder.h"
#include "run/run_stats.h"
#include "run/run_summary.h"
#include "run/run_view.h"
#include "rundir/config_changes.h"
#include "rundir/event_log.h"
#include "rundir/metrics_log.h"
#include "rundir/run_directory.h"
#include "rundir/status_file.h"
#include "train/action_list.h"
#include "train/controller.h"
#include "train/summary_writers.h"
#include "trivet/error.h"
#include "trivet/task.h"

namespace trivet {

// The config or a plugin is at fault: before the first step, the run leaves no trace.
bool is_refusal(const std::exception& failure);

// Members are constructed in this order and destroyed in reverse. [run-thread]
class RunSession {
 public:
  RunSession(const RunRequest& request, const RunLocation& location, Device& device,
             const TrainerConfig& fields, const StopSignals& signals, RunView& view);

  // Returns the exit code.
  int execute();
  // Records the reason, if possible. A process that was rejected before it started does not change
  // the records of the run.
  void fail(const std::exception& failure) noexcept;

  const Logs& last_eval_logs() const { return recorder_.last_eval_logs(); }

 private:
  void check_config();
  void check_saved_weights() const;
  ConfigError other_weights(const std::string& reason) const;
  void start();
  void keep_config();
  void print_header();
  void make_parts();
  void lead_processes();
  void find_peak();
  void check_peak();
  void make_profile();
  Controller::Outcome work();
  Controller::Outcome post_evaluate(Controller::Outcome trained);
  Controller::Outcome follow();
  std::filesystem::path checkpoint_dir() const;
  std::string shown_run() const;
  void report_init();
  void show_config();
  void finish(const std::string& state);
  RunSummary with_records(RunSummary summary) const;
  void keep_summary(const RunSummary& summary);

  const RunRequest& request_;
  const ExperimentConfig& experiment_;
  const RunDirectory& directory_;
  const std::filesystem::path followed_;  // see RunLocation
  Device& device_;
  const TrainerConfig& fields_;
  const StopSignals& signals_;
  const std::string config_text_;
  RunView& view_;
  ProcessWatch process_;
  RunStats stats_;
  MetricsLog metrics_;
  SummaryWriters writers_;
  EventLog log_;
  StatusFile status_;
  RunRecorder recorder_;
  CheckpointManager checkpoints_;
  BestCheckpoints best_;
  std::optional<FollowerWriters> writers_of_others_;  // ends before those that wait for it
  std::unique_ptr<OverlapTuner> overlap_;
  std::unique_ptr<StepProfile> profile_;  // before the layers, which it must see being made
  std::unique_ptr<Task> task_;
  std::unique_ptr<Trainer> trainer_;
  std::vector<ConfigChange> changes_;  // since the run started
  std::unique_ptr<ActionList> train_actions_, eval_actions_;
  std::optional<Controller> controller_;
  bool begun_ = false;  // restored or initialized
};

}  // namespace trivet
