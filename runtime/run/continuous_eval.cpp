// SPDX-License-Identifier: Apache-2.0
#include "run/continuous_eval.h"

#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/format.h"
#include "config/registered_schemas.h"
#include "config/resolver.h"
#include "rundir/config_changes.h"
#include "trivet/error.h"

namespace trivet {

ContinuousEval::ContinuousEval(Parts parts, Options options)
    : parts_(parts),
      options_(std::move(options)),
      watch_(options_.directory, options_.timeout,
             {.must_stop = [this] { return parts_.recorder.must_stop(); },
              .say = [this](const std::string& text) { parts_.recorder.note(text); },
              .warn = [this](const std::string& text) { parts_.recorder.warn(text); }}) {}

Controller::Outcome ContinuousEval::run() {
  parts_.status.start_heartbeat();
  parts_.metrics.keep_all();
  std::int64_t last = parts_.metrics.last_step();
  while (true) {
    if (options_.train_steps > 0 && last >= options_.train_steps) {
      parts_.recorder.note(fmt::format("step {} is the target step: done", last));
      return Controller::Outcome::done;
    }
    parts_.status.set_state("waiting");
    switch (watch_.wait_for(last)) {
      case CheckpointWatch::Found::stopped:
        return Controller::Outcome::stopped;
      case CheckpointWatch::Found::finished:
        if (last < 0) {
          parts_.recorder.warn("the run is done, but left no checkpoint to evaluate");
        } else {
          parts_.recorder.note(fmt::format("the run is done at step {}", last));
        }
        return Controller::Outcome::done;
      case CheckpointWatch::Found::timeout:
        parts_.recorder.warn(fmt::format(
            "no checkpoint for {}; {}", format_duration(options_.timeout),
            last < 0 ? "none was evaluated" : fmt::format("the last one was of step {}", last)));
        return Controller::Outcome::done;
      case CheckpointWatch::Found::checkpoint:
        break;
    }
    if (!take()) continue;
    if (parts_.controller.evaluate() == Controller::Outcome::stopped) {
      return Controller::Outcome::stopped;
    }
    last = watch_.step();
  }
}

bool ContinuousEval::take() {
  check_config();
  if (!watch_.take(parts_.checkpoints)) return false;
  const std::int64_t step = watch_.step();
  parts_.trainer.restore(CheckpointDirectoryReader(parts_.checkpoints.path_of(step)));
  parts_.status.set_step(step);
  return true;
}

// Once the run has its config: its task and model must be those that are evaluated here.
void ContinuousEval::check_config() {
  if (std::exchange(checked_, true)) return;
  const auto file = options_.directory / "config.toml";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return;
  std::vector<ConfigChange> breaking;
  RegisteredSchemas schemas;
  for (const ConfigChange& change :
       config_changes(read_run_config(file), options_.config, schemas)) {
    const bool of_model = change.path == "task" || change.path.starts_with("task.");
    if (change.breaks && of_model) breaking.push_back(change);
  }
  if (breaking.empty()) return;
  throw ConfigError(
      Diagnostic{.path = breaking.front().path,
                 .what = fmt::format("{} trains another task or model:\n{}",
                                     options_.directory.string(), to_string(breaking)),
                 .hint = "evaluate it with its config.toml"});
}

}  // namespace trivet
