// SPDX-License-Identifier: Apache-2.0
#include "train/run_session.h"

#include <utility>
#include <vector>

#include <fmt/core.h>
#include <libdeflate.h>

#include "cli/text_columns.h"
#include "config/toml_reader.h"
#include "train/continuous_eval.h"
#include "train/file_io.h"
#include "train/peak_flops.h"
#include "train/process_info.h"
#include "train/resume_check.h"
#include "trivet/enums.h"
#include "trivet/error.h"
#include "trivet/extensions/tokens.h"
#include "trivet/json.h"
#include "trivet/registry.h"
#include "trivet/thread_pool.h"
#include "trivet/version.h"

namespace trivet {
namespace {

std::string config_id(const std::string& text) {
  return fmt::format("{:08x}", libdeflate_crc32(0, text.data(), text.size()));
}

// Continuous evaluation holds the checkpoint it works on, and that alone.
std::int64_t kept_by(Mode mode, const TrainerConfig& fields) {
  return mode == Mode::continuous_eval ? 1 : fields.max_to_keep;
}

}  // namespace

std::string_view name_of(Mode mode) {
  return enum_name(mode);
}

bool trains(Mode mode) {
  return mode != Mode::eval && mode != Mode::continuous_eval;
}

bool evaluates(Mode mode) {
  return mode != Mode::train;
}

RunSession::RunSession(const RunRequest& request, const RunDirectory& directory, Device& device,
                       const TrainerConfig& fields, const StopSignals& signals)
    : request_(request),
      experiment_(request.config.experiment),
      directory_(directory),
      device_(device),
      fields_(fields),
      signals_(signals),
      config_text_(
          config_text(request.config, false,
                      fmt::format("The resolved config of this run, from {}.", request.source))),
      progress_(detect_terminal(request.quiet)),
      stats_(device),
      metrics_(directory.file("metrics.jsonl")),
      log_(directory.file("log.jsonl")),
      status_(directory.file("status.json"), std::string(name_of(experiment_.mode)),
              fields.train_steps),
      recorder_({progress_, metrics_, writers_, log_, status_, stats_, signals}, fields.train_steps,
                Value::table({{"config_id", config_id(config_text_)}, {"trivet", version()}})),
      checkpoints_(directory.file("checkpoints"),
                   {.max_to_keep = kept_by(experiment_.mode, fields),
                    .keep_every = fields.keep_checkpoint_every,
                    .async = fields.checkpoint_async},
                   [this](const std::string& text) { recorder_.warn(text); }),
      best_(directory.file("best"), fields.best_checkpoint,
            [this](const std::string& text) { recorder_.warn(text); }) {}

int RunSession::execute() {
  status_.set_state("starting");
  keep_config();
  make_parts();
  print_header();
  if (work() == Controller::Outcome::done) {
    finish("done");
    return 0;
  }
  finish(signals_.exit_code() == 130 ? "interrupted" : "preempted");
  return signals_.exit_code();
}

// A file of measurements that is damaged costs a figure, not the run.
void RunSession::find_peak() {
  if (task_->extension(kTaskTokenCount) == nullptr) return;
  try {
    stats_.set_peak_flops(peak_of(device_, experiment_.runtime));
  } catch (const Error& unreadable) {
    recorder_.warn(fmt::format("{}; the run tells no MFU", unreadable.message()));
  }
}

void RunSession::make_parts() {
  TaskContext task_context{device_, directory_.path(), followed_dir()};
  task_ = make(experiment_.task, task_context);
  find_peak();
  TrainerContext trainer_context{.task = *task_,
                                 .device = device_,
                                 .key = Key(static_cast<std::uint64_t>(experiment_.seed)),
                                 .train = trains(experiment_.mode),
                                 .eval = evaluates(experiment_.mode),
                                 .observer = recorder_};
  trainer_ = make(experiment_.trainer, trainer_context);
  ActionContext action_context{.task = *task_,
                               .trainer = *trainer_,
                               .directory = directory_.path(),
                               .say = [this](const std::string& text) { recorder_.say(text); }};
  writers_.open(fields_.summary_writers, directory_.path());
  train_actions_ = ActionList(fields_.train_actions, action_context);
  eval_actions_ = ActionList(fields_.eval_actions, action_context);
  // Without a checkpoint there is nothing to keep of an evaluation alone.
  const bool can_keep_best = experiment_.mode != Mode::eval || !checkpoints_.steps().empty();
  controller_.emplace(Controller::Parts{.trainer = *trainer_,
                                        .checkpoints = checkpoints_,
                                        .events = recorder_,
                                        .best = can_keep_best ? &best_ : nullptr,
                                        .train_actions = &train_actions_,
                                        .eval_actions = &eval_actions_},
                      ControllerOptions{.train_steps = fields_.train_steps,
                                        .steps_per_loop = fields_.steps_per_loop,
                                        .validation_steps = fields_.validation_steps,
                                        .validation_interval = fields_.validation_interval,
                                        .checkpoint_interval = fields_.checkpoint_interval,
                                        .recovers = fields_.recovery == Recovery::restore &&
                                                    fields_.recovery_max_trials > 0});
  recorder_.set_pause([this] { return controller_->wants_pause(); });
}

// Refuses a config that the run's checkpoints do not fit, before anything is changed.
void RunSession::keep_config() {
  const std::filesystem::path path = directory_.file("config.toml");
  std::error_code ignored;
  const bool exists = std::filesystem::exists(path, ignored);
  if (exists && !checkpoints_.steps().empty()) {
    const auto changes = config_changes(read_toml_file(path), request_.config.tree);
    std::vector<ConfigChange> breaking;
    for (const ConfigChange& change : changes) {
      if (change.breaks) breaking.push_back(change);
    }
    if (!breaking.empty()) {
      throw ConfigError(
          Problem{.path = breaking.front().path,
                  .what = fmt::format("{} holds checkpoints of another task or model:\n{}",
                                      directory_.path().string(), to_string(breaking)),
                  .hint = "choose another --workdir; task.init_checkpoint starts a new run from "
                          "these weights"});
    }
    if (!changes.empty()) {
      recorder_.warn("the config changed since the run began:\n" + to_string(changes));
    }
  }
  if (exists && !trains(experiment_.mode)) return;
  replace_file(path, config_text_, Durability::cached);
}

void RunSession::print_header() {
  const std::string about =
      fmt::format("  seed {}  {}  {} {}  f32", experiment_.seed, device_.key(),
                  device_.pool().threads(), device_.pool().threads() == 1 ? "thread" : "threads");
  std::string text = progress_.bold(fmt::format("trivet {}", version())) +
                     fmt::format("  {} -> {}", request_.source, directory_.path().string()) +
                     progress_.dim(about);
  const std::string_view model = task_->config().model.key();
  const auto count = static_cast<std::uint64_t>(trainer_->parameters().trainable_count());
  text += fmt::format("\n  task      {}", experiment_.task.key());
  text += fmt::format("\n  model     {}{}{} parameters", model, model.empty() ? "" : "  ",
                      format_count(count));
  if (trains(experiment_.mode)) {
    text += fmt::format("\n  train     to step {}", fields_.train_steps);
  }
  progress_.print(text);
}

Controller::Outcome RunSession::work() {
  if (experiment_.mode == Mode::continuous_eval) return follow();
  controller_->restore_or_initialize();
  show_config();
  report_init();
  if (trains(experiment_.mode)) {
    if (trainer_->global_step() >= fields_.train_steps) {
      progress_.print(
          fmt::format("  step {} is reached already: nothing to train "
                      "(mode=eval evaluates, a larger trainer.train_steps goes on)",
                      trainer_->global_step()));
    }
    if (experiment_.mode == Mode::train) return controller_->train();
    if (experiment_.mode == Mode::train_and_post_eval) return post_evaluate(controller_->train());
    return controller_->train_and_evaluate();
  }
  if (checkpoints_.steps().empty() && task_->config().init_checkpoint.empty()) {
    recorder_.warn(
        fmt::format("{} has no checkpoint and task.init_checkpoint is not set: "
                    "evaluating untrained weights",
                    directory_.path().string()));
  }
  return controller_->evaluate();
}

Controller::Outcome RunSession::post_evaluate(Controller::Outcome trained) {
  const bool on_record = recorder_.is_evaluated(trainer_->global_step());
  return trained == Controller::Outcome::done && !on_record ? controller_->evaluate() : trained;
}

// The directory of a run is one level above that of its continuous evaluation.
std::filesystem::path RunSession::followed_dir() const {
  return experiment_.mode == Mode::continuous_eval ? directory_.path().parent_path()
                                                   : std::filesystem::path();
}

Controller::Outcome RunSession::follow() {
  ContinuousEval eval({.trainer = *trainer_,
                       .controller = *controller_,
                       .checkpoints = checkpoints_,
                       .recorder = recorder_,
                       .progress = progress_,
                       .status = status_,
                       .metrics = metrics_},
                      {.directory = followed_dir(),
                       .config = request_.config.tree,
                       .train_steps = fields_.train_steps,
                       .timeout = fields_.continuous_eval_timeout.seconds});
  return eval.run();
}

// To the summary writers, once in a run.
void RunSession::show_config() {
  if (trainer_->global_step() > 0) return;
  Summaries summaries;
  summaries.want();
  summaries.text("config", "```toml\n" + config_text_ + "```\n");
  writers_.summaries(trains(experiment_.mode) ? "train" : "eval", trainer_->global_step(),
                     summaries);
}

// What task.init_checkpoint gave: the sum on the screen, every variable in log.jsonl.
void RunSession::report_init() {
  if (!task_->init_report()) return;
  const LoadReport& report = *task_->init_report();
  Value variables = Value::array();
  for (const LoadReport::Entry& entry : report.entries) {
    variables.push_back(Value::table({{"variable", entry.variable},
                                      {"shape", entry.shape},
                                      {"status", name_of(entry.status)},
                                      {"source", entry.source},
                                      {"note", entry.note}}));
  }
  Value unused = Value::array();
  for (const std::string& name : report.unused) unused.push_back(name);
  log_.write("info", "init",
             Value::table({{"file", report.file.string()},
                           {"variables", std::move(variables)},
                           {"unused", std::move(unused)}}));
  std::string text = "  init      " + report.summary();
  for (const LoadReport::Entry& entry : report.entries) {
    if (entry.status == LoadReport::Status::loaded) continue;
    text += fmt::format("\n            {} {} {}{}{}", name_of(entry.status), entry.variable,
                        entry.shape, entry.note.empty() ? "" : "; ", entry.note);
  }
  progress_.print(printable(text));
}

void RunSession::finish(const std::string& state) {
  const RunSummary summary{.state = state,
                           .source = request_.source,
                           .task = std::string(experiment_.task.key()),
                           .model = std::string(task_->config().model.key()),
                           .backend = device_.key(),
                           .directory = directory_.path().string(),
                           .mode = std::string(name_of(experiment_.mode)),
                           .seed = experiment_.seed,
                           .step = trainer_->global_step(),
                           .target = fields_.train_steps,
                           .parameters = trainer_->parameters().trainable_count(),
                           .eval_step = recorder_.last_eval_step(),
                           .threads = device_.pool().threads(),
                           .wall_seconds = seconds_since_process_start(),
                           .train = recorder_.last_train_logs(),
                           .eval = recorder_.last_eval_logs()};
  keep_summary(summary);
  writers_.flush();
  status_.set_step(summary.step);
  status_.set_state(state, signals_.requested() ? signals_.name() : "");
  log_.write("info", state, Value::table({{"step", summary.step}}));
  progress_.print(summary_text(summary, stats_, device_, progress_.columns()));
  if (state != "done") {
    progress_.print(fmt::format("  stopped by {}; continue with --workdir {}", signals_.name(),
                                summary.directory));
  }
}

// A process that found everything done leaves the figures of the one that did it.
void RunSession::keep_summary(const RunSummary& summary) {
  if (stats_.steps() == 0 && summary.eval.empty()) return;
  const std::filesystem::path path = directory_.file("summary.json");
  Value value = summary_value(summary, stats_, device_);
  std::error_code ignored;
  if (stats_.steps() == 0 && std::filesystem::exists(path, ignored)) {
    try {
      value = with_evaluation(value_from_json(read_text(path), path.string()), value);
    } catch (const Error& unreadable) {
      recorder_.warn(fmt::format("{}; it is written anew", unreadable.message()));
    }
  }
  replace_file(path, to_json(value, JsonStyle::indented), Durability::cached);
}

// The reason itself is reported by main; here it is only kept. What cannot be written any more
// (often the very reason) is left.
void RunSession::fail(const std::string& reason) noexcept {
  progress_.clear();
  try {
    if (trainer_) status_.set_step(trainer_->global_step());
    status_.set_state("failed", reason);
    log_.write("error", "failed", Value::table({{"message", reason}}));
  } catch (const std::exception&) {
  }
}

}  // namespace trivet
