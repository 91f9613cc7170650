// SPDX-License-Identifier: Apache-2.0
// What a RunSession tells of its run: the header and the summary on the screen, summary.json, and
// the reason of a failure.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/format.h"
#include "base/process_info.h"
#include "base/terminal_text.h"
#include "config/modes.h"
#include "host/loaded_plugins.h"
#include "run/run_session.h"
#include "rundir/metrics_reader.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/text/strings.h"
#include "trivet/version.h"

namespace trivet {
namespace {

// How many exchanges are under way at the end; empty for one process.
std::optional<std::int64_t> overlap_of(World* world, const MeshConfig& mesh) {
  if (world == nullptr) return std::nullopt;
  return world->exchange_log()->overlap().value_or(mesh.assumed_overlap());
}

}  // namespace

bool is_refusal(const std::exception& failure) {
  const auto* error = dynamic_cast<const Error*>(&failure);
  return error != nullptr && error->exit_code() != RunError("").exit_code();
}

void RunSession::print_header() {
  std::string about = fmt::format("  seed {}  {}  {}  f32", experiment_.seed, device_.key(),
                                  count_of(device_.pool().threads(), "thread"));
  if (const World* world = request_.world) {
    about +=
        fmt::format("  {} of {}", count_of(world->size(), "process", "processes"), world->name());
  }
  std::string text = view_.bold(fmt::format("trivet {}", version())) +
                     fmt::format("  {} -> {}", request_.source, directory_.shown().string()) +
                     view_.dim(about);
  const std::string_view model = task_->config().model.key();
  const auto count = static_cast<std::uint64_t>(trainer_->parameters().trainable_count());
  for (const LoadedPlugin& plugin : loaded_plugins()) {
    if (plugin.replaces.empty()) continue;
    text += printable(fmt::format("\n  plugin    {} {} in {} replaces the shipped one", plugin.name,
                                  plugin.version, plugin.file.string()));
  }
  text += fmt::format("\n  task      {}", experiment_.task.key());
  text += fmt::format("\n  model     {}{}{} parameters", model, model.empty() ? "" : "  ",
                      format_count(count));
  if (trains(experiment_.mode)) {
    text += fmt::format("\n  train     to step {}", fields_.train_steps);
    if (!fields_.save_checkpoints) text += ", saving no checkpoint";
    const std::optional<MetricsRecord> lost =
        checkpoints_.steps().empty() ? last_records(directory_.file("metrics.jsonl")).train
                                     : std::nullopt;
    if (lost) {
      text += fmt::format("\n  restart   at step 0: the run was at step {}, but has no checkpoint",
                          lost->step);
    }
  }
  view_.print(text);
}

// Sent to the summary writers once per run.
void RunSession::show_config() {
  if (trains(experiment_.mode) && trainer_->global_step() > 0) return;
  Summaries summaries;
  summaries.want();
  summaries.text("config", "```toml\n" + config_text_ + "```\n");
  writers_.summaries(trains(experiment_.mode) ? "train" : "eval", trainer_->global_step(),
                     summaries);
}

// Reports task.init_checkpoint: the totals on the screen, every variable in log.jsonl.
void RunSession::report_init() {
  if (!task_->init_report()) return;
  const LoadReport& report = *task_->init_report();
  Value variables = Value::array();
  for (const LoadReport::Entry& entry : report.entries) {
    variables.push_back(Value::table({{"variable", entry.variable},
                                      {"shape", entry.shape},
                                      {"status", enum_name(entry.status)},
                                      {"source", entry.source},
                                      {"note", entry.note}}));
  }
  Value unused = Value::array_of(report.unused);
  log_.write("info", "init",
             Value::table({{"file", report.file},
                           {"variables", std::move(variables)},
                           {"unused", std::move(unused)}}));
  std::string text = "  init      " + report.summary();
  for (const LoadReport::Entry& entry : report.entries) {
    if (entry.status == LoadReport::Status::loaded) continue;
    text += fmt::format("\n            {} {} {}{}{}", enum_name(entry.status), entry.variable,
                        entry.shape, entry.note.empty() ? "" : "; ", entry.note);
  }
  view_.print(printable(text));
}

void RunSession::finish(const std::string& state) {
  directory_.check_in_place();
  const std::string stop_reason = trains(experiment_.mode) && state == "done"
                                      ? controller_->stopped_by_action().value_or("")
                                      : "";
  if (request_.stop_reason != nullptr) *request_.stop_reason = stop_reason;
  const RunSummary summary{.state = state,
                           .stop_reason = stop_reason,
                           .source = request_.source,
                           .task = std::string(experiment_.task.key()),
                           .model = std::string(task_->config().model.key()),
                           .backend = device_.key(),
                           .directory = directory_.shown().string(),
                           .mode = std::string(enum_name(experiment_.mode)),
                           .seed = experiment_.seed,
                           .step = trainer_->global_step(),
                           .target = fields_.train_steps,
                           .parameters = trainer_->parameters().trainable_count(),
                           .eval_step = recorder_.last_eval_step(),
                           .threads = device_.pool().threads(),
                           .wall_seconds = seconds_since_process_start(),
                           .overlap = overlap_of(request_.world, experiment_.mesh),
                           .train = recorder_.last_train_logs(),
                           .eval = recorder_.last_eval_logs()};
  keep_summary(summary);
  writers_.flush();
  status_.set_step(summary.step);
  status_.set_state(state, !stop_reason.empty()   ? stop_reason
                           : signals_.requested() ? signals_.name()
                                                  : "");
  Value event = Value::table({{"step", summary.step}});
  if (!stop_reason.empty()) event.set("reason", stop_reason);
  log_.write("info", state, event);
  view_.print(summary_text(summary, stats_, device_, view_.columns()));
  if (state != "done") {
    const std::filesystem::path& workdir = followed_.empty() ? directory_.path() : followed_;
    const bool starts_again =
        trains(experiment_.mode) && !fields_.save_checkpoints && checkpoints_.steps().empty();
    view_.print(fmt::format("  stopped by {}; {} with --workdir {}", signals_.name(),
                            starts_again ? "nothing is saved: start again at step 0" : "continue",
                            workdir.string()));
  }
}

// Includes the metrics of earlier processes if this one has none: they may have been killed before
// they wrote them.
RunSummary RunSession::with_records(RunSummary summary) const {
  const LastRecords last = last_records(directory_.file("metrics.jsonl"));
  if (summary.train.empty() && last.train) summary.train = last.train->values;
  if (summary.eval.empty() && last.eval) {
    summary.eval = last.eval->values;
    summary.eval_step = last.eval->step;
  }
  return summary;
}

// A process that had nothing to do keeps the figures of the earlier process.
void RunSession::keep_summary(const RunSummary& summary) {
  const std::filesystem::path path = directory_.file("summary.json");
  const bool exists = is_there(path);
  if (exists && stats_.steps() == 0 && summary.eval.empty()) return;
  Value value = summary_value(exists ? summary : with_records(summary), stats_, device_);
  if (exists && stats_.steps() == 0) {
    try {
      value = with_evaluation(value_from_json(read_text_file(path), path.string()), value);
    } catch (const Error& unreadable) {
      recorder_.warn(fmt::format("{}; trivet writes it again", unreadable.message()));
    }
  }
  replace_file(path, to_json(value, JsonStyle::indented), Durability::cached);
}

// main reports the reason; this only records it. Records that cannot be written (often the cause
// itself) are skipped.
void RunSession::fail(const std::exception& failure) noexcept {
  view_.clear();
  const std::string reason = failure.what();
  try {
    if (!begun_ && is_refusal(failure) && status_.put_back()) return;
    if (trainer_) status_.set_step(trainer_->global_step());
    if (trainer_ && trainer_->global_step() > 0) directory_.keep();
    status_.set_state("failed", reason);
    log_.write("error", "failed", Value::table({{"message", reason}}));
  } catch (const std::exception&) {
  }
}

}  // namespace trivet
