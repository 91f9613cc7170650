// SPDX-License-Identifier: Apache-2.0
#include "run/run_recorder.h"

#include <csignal>
#include <cstdio>
#include <utility>

#include <fmt/core.h>

#include "base/format.h"
#include "base/terminal_text.h"
#include "rundir/run_plugins.h"
#include "trivet/config/enums.h"
#include "trivet/train/run_log.h"

namespace trivet {
namespace {

// The extent of metrics.jsonl when a checkpoint was saved.
constexpr std::string_view kMetricsState = "metrics";

// The metric to show next to the loss: the first one of the task.
const Logs::Entry* main_metric(const Logs& logs) {
  for (const Logs::Entry& entry : logs) {
    if (entry.first != "training_loss" && entry.first != "learning_rate" &&
        entry.first != "gradient_norm") {
      return &entry;
    }
  }
  return nullptr;
}

}  // namespace

RunRecorder::RunRecorder(Parts parts, std::int64_t target, Value state)
    : parts_(parts), target_(target), state_(std::move(state)) {}

void RunRecorder::warn(const std::string& text) {
  parts_.view.warn(text);
  parts_.log.write("warning", "warning", Value::table({{"message", text}}));
}

void RunRecorder::note(const std::string& text) {
  line("note", text);
}

void RunRecorder::say(const std::string& text) {
  line("action", text);
}

void RunRecorder::line(const std::string& name, const std::string& text) {
  parts_.log.write("info", name, Value::table({{"message", text}}));
  parts_.view.print(fmt::format("  {:<10}{}", name, printable(text)));
}

bool RunRecorder::wants_loss() const {
  return parts_.view.is_due(parts_.stats.steps() + 1);
}

void RunRecorder::take_first_result() {
  if (const auto act = std::exchange(before_first_result_, {})) act();
}

void RunRecorder::on_train_step(std::int64_t step, double loss, std::int64_t examples) {
  take_first_result();
  parts_.process.check_processor();
  parts_.stats.on_step(examples, std::exchange(step_tokens_, 0));
  parts_.status.set_step(step);
  const bool first = parts_.stats.steps() == 1;
  if (first) parts_.status.start_heartbeat();
  if (first || parts_.view.is_due(step)) show(step, loss);
  if (at_step_) at_step_(step);
  if (after_step_) after_step_();
}

void RunRecorder::show(std::int64_t step, double loss) {
  const TrainingCost cost = parts_.stats.cost();
  RunProgress state{.step = step, .target = target_, .loss = loss};
  state.metric = metric_;
  state.metric_value = metric_value_;
  state.examples_per_second = cost.examples_per_second();
  state.tokens_per_second = cost.tokens_per_second();
  state.mfu = cost.tokens > 0 ? cost.mfu() : 0;
  if (cost.steps > 0 && cost.seconds > 0) {
    state.seconds_left = static_cast<double>(target_ - step) / cost.steps_per_second();
  }
  parts_.view.update(state);
}

void RunRecorder::on_eval_step(std::int64_t, std::int64_t examples) {
  eval_examples_ += examples;
  ++eval_steps_;
}

bool RunRecorder::stop_requested() const {
  const bool stops = must_stop() || (training_ && pause_ && pause_());
  if (!agree_) return stops;
  const bool agreed = agree_(stops);
  // A stop of another process is one of the run.
  if (agreed && !stops) std::raise(SIGTERM);
  return agreed;
}

bool RunRecorder::must_stop() const {
  return parts_.signals.requested();
}

// Another build of a plugin may compute other results from the same config.
void RunRecorder::compare_plugins(const CheckpointReader& checkpoint) {
  const Value* before =
      checkpoint.has_state("run") ? checkpoint.state("run").find("plugins") : nullptr;
  if (before == nullptr) return;
  std::string text;
  for (const PluginChange& change : plugin_changes(*before, loaded_plugins_value())) {
    if (change.before.empty() || change.after.empty()) continue;  // reported with the config
    text += fmt::format("\n  {}: {} -> {}", change.name, change.before, change.after);
  }
  if (!text.empty()) warn("plugins changed since the checkpoint was written:" + text);
}

void RunRecorder::on_start(std::int64_t step, const std::filesystem::path& path) {
  parts_.process.check();
  take_up_records(step, path.empty() ? Begin::fresh : Begin::continued);
  parts_.status.set_step(step);
  parts_.status.set_state("running");
  parts_.log.write("info", "start",
                   Value::table({{"step", step},
                                 {"attempt", parts_.status.attempt()},
                                 {"checkpoint", path.string()},
                                 {"plugins", loaded_plugins_value()}}));
  if (path.empty()) return;
  const std::string name = path.filename().string();
  parts_.view.event(fmt::format("  continue from step {} ({})", step, name), "continue",
                    {{"step", std::to_string(step)}, {"checkpoint", name}});
}

// metrics.jsonl says which evaluations were brought to their end, and so goes first.
void RunRecorder::take_up_records(std::int64_t step, Begin begin) {
  if (!parts_.trains) {
    parts_.metrics.keep_all();
    return;
  }
  const std::int64_t last = begin == Begin::fresh ? -1 : step;
  parts_.metrics.truncate_after(last);
  cut_run_records(parts_.directory, {.step = last, .evaluated = is_evaluated(last)});
  parts_.writers.begin(step);
}

void RunRecorder::on_restored(const CheckpointReader& checkpoint) {
  compare_plugins(checkpoint);
  if (!parts_.trains || !checkpoint.has_state(kMetricsState)) return;
  const std::string loss = parts_.metrics.loss_since(checkpoint.state(kMetricsState));
  if (loss.empty()) return;
  warn(fmt::format("{}, but {} recorded more lines: the missing ones are lost", loss,
                   checkpoint.description()));
}

void RunRecorder::on_recovered(std::int64_t step, const std::filesystem::path& path,
                               const std::string& reason) {
  take_up_records(step, Begin::continued);
  parts_.status.set_step(step);
  warn(fmt::format("{}; back to step {} ({})", reason, step, path.filename().string()));
}

void RunRecorder::on_left_unsaved(std::int64_t step, const std::string& reason) {
  warn(
      fmt::format("{}: step {} was not saved; a run that continues starts at its newest "
                  "checkpoint, or at step 0 without one",
                  reason, step));
}

bool RunRecorder::is_evaluated(std::int64_t step) const {
  return parts_.metrics.ends_with(RecordKind::eval, step);
}

void RunRecorder::on_train_begin(std::int64_t step) {
  training_ = true;
  if (at_step_) at_step_(step);
  parts_.stats.begin_training();
}

void RunRecorder::on_train_end(std::int64_t) {
  parts_.stats.end_training();
  training_ = false;
}

Logs RunRecorder::rates_of_loop() {
  const double seconds = parts_.stats.training_seconds() - loop_seconds_;
  Logs rates;
  if (seconds > 0) {
    rates.set("steps_per_second",
              static_cast<double>(parts_.stats.steps() - loop_steps_) / seconds);
    rates.set("examples_per_second",
              static_cast<double>(parts_.stats.examples() - loop_examples_) / seconds);
  }
  if (const auto tokens = static_cast<double>(parts_.stats.tokens() - loop_tokens_);
      seconds > 0 && tokens > 0) {
    rates.set("tokens_per_second", tokens / seconds);
    const double flops_per_token = (parts_.stats.model_flops() - loop_flops_) / tokens;
    const double peak = parts_.stats.peak_flops();
    if (peak > 0) rates.set("mfu", tokens / seconds * flops_per_token / peak);
  }
  add_waiting(rates);
  loop_seconds_ = parts_.stats.training_seconds();
  loop_steps_ = parts_.stats.steps();
  loop_examples_ = parts_.stats.examples();
  loop_tokens_ = parts_.stats.tokens();
  loop_flops_ = parts_.stats.model_flops();
  return rates;
}

// How long a process has waited for others in a step; the mean of several processes.
void RunRecorder::add_waiting(Logs& rates) {
  const TrainingCost cost = parts_.stats.cost();
  if (cost.waited_seconds.empty() || cost.steps == loop_measured_) return;
  double waited = 0;
  for (const double of_process : cost.waited_seconds) waited += of_process;
  waited /= static_cast<double>(cost.waited_seconds.size());
  rates.set("communication",
            (waited - loop_waited_) / static_cast<double>(cost.steps - loop_measured_));
  loop_waited_ = waited;
  loop_measured_ = cost.steps;
}

// metrics.jsonl last: a step that it contains has all its other records.
void RunRecorder::record(RecordKind kind, std::int64_t step, const Logs& values, Logs rates) {
  if (parts_.num_params) rates.set("num_params", static_cast<double>(parts_.num_params()));
  if (!parts_.writers.empty()) {
    Logs all = values;
    all.merge(rates);
    parts_.writers.scalars(enum_name(kind), step, all);
  }
  parts_.metrics.append(kind, step, values, rates);
}

void RunRecorder::on_summaries(std::string_view group, std::int64_t step,
                               const Summaries& summaries) {
  parts_.writers.summaries(group, step, summaries);
}

void RunRecorder::on_train_logs(std::int64_t step, const Logs& logs) {
  parts_.process.check();
  record(RecordKind::train, step, logs, rates_of_loop());
  train_logs_ = logs;
  if (const Logs::Entry* metric = main_metric(logs)) {
    metric_ = metric->first;
    metric_value_ = metric->second;
  }
  if (const std::string reason = parts_.status.take_heartbeat_error(); !reason.empty()) {
    warn(reason);
  }
}

void RunRecorder::on_eval_begin(std::int64_t) {
  parts_.status.set_state("evaluating");
  parts_.status.start_heartbeat();
  eval_start_ = steady_seconds();
  eval_examples_ = eval_steps_ = 0;
}

void RunRecorder::on_eval_logs(std::int64_t step, const Logs& logs) {
  take_first_result();
  parts_.process.check();
  const double seconds = eval_seconds_ = steady_seconds() - eval_start_;
  eval_logs_ = logs;
  eval_step_ = step;
  parts_.status.set_state("running");

  std::vector<std::string> facts;
  std::vector<RunView::Pair> pairs = {{"step", std::to_string(step)}};
  for (const auto& [name, value] : logs) {
    facts.push_back(fmt::format("{} {}", name, format_number(value)));
    pairs.push_back({name, format_number(value)});
  }
  const std::string cost =
      fmt::format("  ({} examples in {})", format_count(static_cast<std::uint64_t>(eval_examples_)),
                  format_duration(seconds));
  const std::string text =
      facts_line(fmt::format("  eval      step {}", step), facts, cost, parts_.view.columns());
  pairs.push_back({"examples", std::to_string(eval_examples_)});
  pairs.push_back({"seconds", fmt::format("{:.2f}", seconds)});
  parts_.view.event(text, "eval", pairs);
}

void RunRecorder::on_eval_done(std::int64_t step, const Logs& logs) {
  Logs rates;
  rates.set("seconds", eval_seconds_);
  rates.set("examples", static_cast<double>(eval_examples_));
  if (eval_seconds_ > 0) {
    rates.set("steps_per_second", static_cast<double>(eval_steps_) / eval_seconds_);
  }
  sync_run_records(parts_.directory);
  if (!is_evaluated(step)) record(RecordKind::eval, step, logs, rates);
}

void RunRecorder::on_save_begin(std::int64_t) {
  if (parts_.check_directory) parts_.check_directory();
  take_first_result();
  parts_.status.set_state("saving");
  // Records before a checkpoint must be on the disk before the checkpoint.
  parts_.metrics.sync();
  sync_run_records(parts_.directory);
  parts_.writers.flush();
}

void RunRecorder::on_save_goes_on(std::int64_t) {
  parts_.status.set_state("running");
}

void RunRecorder::on_best(const BestCheckpoints::Entry& entry, const std::filesystem::path& path) {
  parts_.log.write(
      "info", "best",
      Value::table({{"step", entry.step}, {"value", entry.value}, {"path", path.string()}}));
  const std::string value = format_number(entry.value);
  parts_.view.event(facts_line(fmt::format("  best      step {}", entry.step), {value}, "",
                               parts_.view.columns()),
                    "best", {{"step", std::to_string(entry.step)}, {"value", value}});
}

void RunRecorder::on_saved(const SavedCheckpoint& saved) {
  const std::string path = saved.path.string();
  parts_.log.write("info", "checkpoint",
                   Value::table({{"step", saved.step},
                                 {"path", path},
                                 {"bytes", saved.bytes},
                                 {"largest_part", saved.largest_part},
                                 {"seconds", saved.seconds},
                                 {"stalled", saved.stalled}}));
  const std::string cost = fmt::format("{} in {:.2f} s", format_bytes(saved.bytes), saved.seconds);
  parts_.view.event(
      facts_line(fmt::format("  saved     step {}", saved.step), {cost}, "", parts_.view.columns()),
      "checkpoint",
      {{"step", std::to_string(saved.step)},
       {"bytes", std::to_string(saved.bytes)},
       {"seconds", fmt::format("{:.3f}", saved.seconds)}});
}

void RunRecorder::add_state(CheckpointWriter& writer) {
  Value state = state_;
  state.set("plugins", loaded_plugins_value());
  writer.state("run", state);
  writer.state(kMetricsState, parts_.metrics.extent());
}

void RunRecorder::on_end_of_data(std::int64_t step) {
  warn(fmt::format("the training data ended at step {}, before trainer.train_steps = {}", step,
                   target_));
}

}  // namespace trivet
