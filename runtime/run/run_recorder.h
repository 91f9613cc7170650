// SPDX-License-Identifier: Apache-2.0
// RunRecorder: records the events of trainer and controller in metrics.jsonl, summary writers,
// log.jsonl, status.json and on the screen, and forwards stop requests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "base/stop_signals.h"
#include "host/process_watch.h"
#include "run/run_stats.h"
#include "run/run_view.h"
#include "rundir/event_log.h"
#include "rundir/metrics_log.h"
#include "rundir/status_file.h"
#include "train/controller.h"
#include "train/summary_writers.h"
#include "trivet/trainer.h"

namespace trivet {

class RunRecorder final : public TrainerObserver, public ControllerEvents {
 public:
  struct Parts {
    RunView& view;
    MetricsLog& metrics;
    SummaryWriters& writers;
    EventLog& log;
    StatusFile& status;
    RunStats& stats;
    const StopSignals& signals;
    const ProcessWatch& process;
    // Continues the training, and so drops records of later steps. Other modes drop none.
    bool trains = true;
    std::filesystem::path directory{};  // of the run
    // Of the model that is trained now; records have it as num_params.
    std::function<std::int64_t()> num_params{};
    // Called before each checkpoint; throws if the directory was removed, which a checkpoint would
    // make again.
    std::function<void()> check_directory{};
  };
  // `target` is the step to train to; `state` goes into every checkpoint as "run", with the plugins
  // that are loaded then.
  RunRecorder(Parts parts, std::int64_t target, Value state);

  // Writes a line of an action to the screen and log.jsonl.
  void say(const std::string& text);

  const Logs& last_train_logs() const { return train_logs_; }
  const Logs& last_eval_logs() const { return eval_logs_; }
  std::int64_t last_eval_step() const { return eval_step_; }  // -1: none

  // Called once, before the first step, evaluation or checkpoint of this process is recorded.
  void before_first_result(std::function<void()> act) { before_first_result_ = std::move(act); }
  // Calls it now, if that has not happened yet.
  void take_first_result();

  // Called before every training step: whether the trainer should return.
  void set_pause(std::function<bool()> pause) { pause_ = std::move(pause); }

  // Called before every step with whether this process is to stop or pause: whether the trainer
  // should return, as all processes of the run agree.
  void set_agreement(std::function<bool(bool)> agree) { agree_ = std::move(agree); }

  // Called with the step after every training step, and when training begins.
  void set_at_step(std::function<void(std::int64_t)> at_step) { at_step_ = std::move(at_step); }

  // Called at the end of every training step.
  void set_after_step(std::function<void()> act) { after_step_ = std::move(act); }

  // TrainerObserver
  bool wants_loss() const override;
  void on_train_step(std::int64_t step, double loss, std::int64_t examples) override;
  void on_train_tokens(std::int64_t tokens) override { step_tokens_ = tokens; }
  void on_eval_step(std::int64_t step, std::int64_t examples) override;
  bool wants_summaries() const override { return !parts_.writers.empty(); }
  void on_summaries(std::string_view group, std::int64_t step, const Summaries& summaries) override;
  void note(const std::string& text) override;  // on the screen and in log.jsonl
  void warn(const std::string& text) override;  // on standard error and in log.jsonl
  bool stop_requested() const override;         // must_stop, or a requested pause while training

  // ControllerEvents
  void on_start(std::int64_t step, const std::filesystem::path& path) override;
  void on_restored(const CheckpointReader& checkpoint) override;
  void on_recovered(std::int64_t step, const std::filesystem::path& path,
                    const std::string& reason) override;
  void on_left_unsaved(std::int64_t step, const std::string& reason) override;
  bool is_evaluated(std::int64_t step) const override;
  void on_train_begin(std::int64_t step) override;
  void on_train_end(std::int64_t step) override;
  void on_train_logs(std::int64_t step, const Logs& logs) override;
  void on_eval_begin(std::int64_t step) override;
  void on_eval_logs(std::int64_t step, const Logs& logs) override;
  void on_eval_done(std::int64_t step, const Logs& logs) override;
  void on_save_begin(std::int64_t step) override;
  void on_save_goes_on(std::int64_t step) override;
  void on_saved(const SavedCheckpoint& saved) override;
  void on_best(const BestCheckpoints::Entry& entry, const std::filesystem::path& path) override;
  void add_state(CheckpointWriter& writer) override;
  void on_end_of_data(std::int64_t step) override;
  bool must_stop() const override;

 private:
  void compare_plugins(const CheckpointReader& checkpoint);
  enum class Begin { fresh, continued };  // fresh: drops the records of an earlier run
  void take_up_records(std::int64_t step, Begin begin);
  void line(const std::string& name, const std::string& text);
  void record(RecordKind kind, std::int64_t step, const Logs& values, Logs rates);
  void show(std::int64_t step, double loss);
  Logs rates_of_loop();
  void add_waiting(Logs& rates);

  Parts parts_;
  const std::int64_t target_;
  const Value state_;
  std::function<bool()> pause_;
  std::function<bool(bool)> agree_;
  std::function<void(std::int64_t)> at_step_;
  std::function<void()> before_first_result_;
  std::function<void()> after_step_;
  bool training_ = false;
  Logs train_logs_, eval_logs_;
  std::string metric_;  // metric of train_logs_ for the progress line
  double metric_value_ = 0;
  double eval_start_ = 0;
  double eval_seconds_ = 0;
  std::int64_t eval_examples_ = 0, eval_steps_ = 0, eval_step_ = -1;
  // The values at the last line of training metrics.
  double loop_seconds_ = 0;
  std::int64_t loop_steps_ = 0, loop_examples_ = 0, loop_tokens_ = 0;
  double loop_flops_ = 0;
  double loop_waited_ = 0;          // seconds of a process, in measured steps
  std::int64_t loop_measured_ = 0;  // these steps
  std::int64_t step_tokens_ = 0;    // of the step that is reported next
};

}  // namespace trivet
