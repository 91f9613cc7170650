// SPDX-License-Identifier: Apache-2.0
#include "run/continuous_train.h"

#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/format.h"
#include "config/toml/toml_reader.h"
#include "config/tree/references.h"
#include "run/run_session.h"
#include "run/run_start.h"
#include "rundir/metrics_reader.h"
#include "trivet/config/enums.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

std::string init_checkpoint_of(const ResolvedConfig& config) {
  const Value* given = config.tree.find_path("task.init_checkpoint");
  return given != nullptr && given->is_string() ? given->as_string() : std::string();
}

}  // namespace

void check_continuous_train(const ResolvedConfig& config) {
  if (!init_checkpoint_of(config).empty()) return;
  throw ConfigError(
      Diagnostic{.path = "task.init_checkpoint",
                 .what = "is not set: mode continuous_train_and_eval needs a run to follow",
                 .hint = "set it to the directory of the run from whose checkpoints to "
                         "train"});
}

ContinuousTrain::ContinuousTrain(const RunRequest& request, const RunDirectory& directory,
                                 const TrainerConfig& fields, const StopSignals& signals,
                                 RunView& view)
    : request_(request),
      directory_(directory),
      fields_(fields),
      signals_(signals),
      view_(view),
      metrics_(directory.file("metrics.jsonl")),
      log_(directory.file("log.jsonl")),
      status_(directory.file("status.json"), std::string(enum_name(request.config.experiment.mode)),
              fields.train_steps),
      source_(directory.file("source"), {.max_to_keep = 1},
              [this](const std::string& text) { warn(text); }),
      watch_(init_checkpoint_of(request.config), fields.continuous_eval_timeout.seconds,
             {.must_stop = [&signals] { return signals.requested(); },
              .say = [this](const std::string& text) { note(text); },
              .warn = [this](const std::string& text) { warn(text); }}) {}

void ContinuousTrain::note(const std::string& text) {
  log_.write("info", "note", Value::table({{"message", text}}));
  view_.print("  note      " + text);
}

void ContinuousTrain::warn(const std::string& text) {
  view_.warn(text);
  log_.write("warning", "warning", Value::table({{"message", text}}));
}

int ContinuousTrain::run() {
  status_.set_state("starting");
  replace_file(
      directory_.file("config.toml"),
      run_config_text(request_.config,
                      fmt::format("The whole config of this run, from {}.", request_.source)),
      Durability::cached);
  status_.start_heartbeat();
  try {
    const int code = work();
    status_.set_state(code == 0     ? "done"
                      : code == 130 ? "interrupted"
                                    : "preempted",
                      signals_.requested() ? signals_.name() : "");
    return code;
  } catch (const std::exception& failure) {
    try {
      status_.set_state("failed", failure.what());
    } catch (const Error&) {  // the first error is reported
    }
    throw;
  }
}

int ContinuousTrain::work() {
  metrics_.truncate_after(std::numeric_limits<std::int64_t>::max());  // keeps complete records
  const std::vector<std::int64_t> begun = source_.steps();
  if (!begun.empty() && begun.back() > metrics_.last_step()) {
    if (const int code = train_from(begun.back()); code != 0) return code;
  }
  while (true) {
    status_.set_state("waiting");
    switch (watch_.wait_for(metrics_.last_step())) {
      case CheckpointWatch::Found::stopped:
        return signals_.exit_code();
      case CheckpointWatch::Found::finished:
        note("the followed run is done");
        return 0;
      case CheckpointWatch::Found::timeout:
        warn(fmt::format("no checkpoint for {}",
                         format_duration(fields_.continuous_eval_timeout.seconds)));
        return 0;
      case CheckpointWatch::Found::checkpoint:
        break;
    }
    if (!watch_.take(source_)) continue;
    if (const int code = train_from(watch_.step()); code != 0) return code;
  }
}

RunRequest ContinuousTrain::request_for(std::int64_t step) const {
  RunRequest request = request_;
  const std::string from = source_.path_of(step).string();
  ResolvedConfig& config = request.config;
  Value plain = from;
  escape_references(plain);
  config.tree.set_path("task.init_checkpoint", from);
  config.referring.set_path("task.init_checkpoint", std::move(plain));
  for (Value* tree : {&config.tree, &config.referring}) {
    tree->set_path("mode", enum_name(Mode::train_and_eval));
  }
  Value fields = config.experiment.task.fields();
  fields.set("init_checkpoint", from);
  fields.set("type", config.experiment.task.key());
  config.experiment.task = ConfigOf<Task>(ConfigValue::from_value(fields, Task::kKind, "task"));
  config.experiment.mode = Mode::train_and_eval;
  return request;
}

int ContinuousTrain::train_from(std::int64_t step) {
  status_.set_step(step);
  status_.set_state("running");
  note(fmt::format("training from the checkpoint of step {}", step));
  const RunRequest request = request_for(step);
  RunDirectory directory = RunDirectory::at(directory_.file(fmt::format("from_step_{:08}", step)));
  const std::unique_ptr<Device> device = open_device(request);
  Logs logs;
  int code = 0;
  try {
    // More checkpoints may come: the work is not done when this session ends.
    code = run_in(request, {directory}, *device, fields_, signals_, view_, nullptr, &logs);
  } catch (const Error& failure) {
    const bool started = is_there(directory.file("checkpoints"));
    if (is_refusal(failure) && !started) directory.remove_if_made();
    if (is_there(directory.path())) directory_.keep();
    throw;
  }
  directory_.keep();
  if (code != 0) return code;
  // None if an earlier process had finished it.
  if (logs.empty()) {
    const LastRecords last = last_records(directory.file("metrics.jsonl"));
    if (last.eval) logs = last.eval->values;
  }
  metrics_.append(RecordKind::eval, step, logs, {});
  return 0;
}

}  // namespace trivet
