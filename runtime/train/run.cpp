// SPDX-License-Identifier: Apache-2.0
#include "train/run.h"

#include <memory>
#include <utility>

#include <fmt/core.h>
#include <libdeflate.h>

#include "cli/progress.h"
#include "config/toml_reader.h"
#include "train/checkpoint_manager.h"
#include "train/controller.h"
#include "train/event_log.h"
#include "train/file_io.h"
#include "train/json_value.h"
#include "train/metrics_log.h"
#include "train/resume_check.h"
#include "train/run_directory.h"
#include "train/run_recorder.h"
#include "train/run_stats.h"
#include "train/run_summary.h"
#include "train/signals.h"
#include "train/status_file.h"
#include "trivet/error.h"
#include "trivet/registry.h"
#include "trivet/thread_pool.h"
#include "trivet/version.h"

namespace trivet {
namespace {

// The fields every trainer has, whatever a derived config adds.
TrainerConfig trainer_fields(const ConfigOf<Trainer>& config) {
  Value common = Value::table();
  for (const Value::Member& member : config.fields().members()) {
    if (schema_of<TrainerConfig>().find(member.key) != nullptr) {
      common.set(member.key, member.value);
    }
  }
  return decode<TrainerConfig>(common, config.path());
}

Origin origin_of(const Value& config, std::string_view path) {
  const Value* value = config.find_path(path);
  return value != nullptr ? value->origin() : Origin{};
}

void check_before_start(const ResolvedConfig& config, const TrainerConfig& trainer) {
  if (config.experiment.mode == Mode::eval || trainer.train_steps > 0) return;
  throw ConfigError(Problem{.where = origin_of(config.tree, "trainer.train_steps"),
                            .path = "trainer.train_steps",
                            .what = "is 0: there is nothing to train",
                            .hint = "set it, or use mode = \"eval\""});
}

// As text, which is how a backend takes them: 42, true, 0.5, raw text for strings.
std::vector<std::pair<std::string, std::string>> backend_options(const Value& table) {
  std::vector<std::pair<std::string, std::string>> options;
  if (!table.is_table()) return options;
  for (const Value::Member& member : table.members()) {
    if (member.value.is_null()) continue;
    options.emplace_back(member.key,
                         member.value.is_text() ? member.value.as_text() : to_toml(member.value));
  }
  return options;
}

std::unique_ptr<Device> open_device(const RunRequest& request) {
  const RuntimeConfig& runtime = request.config.experiment.runtime;
  const void* table =
      registry().table("backend", runtime.backend,
                       origin_of(request.config.tree, "runtime.backend"), "runtime.backend");
  DeviceOptions options;
  options.key = runtime.backend;
  options.index = static_cast<int>(runtime.device);
  options.pool = std::make_shared<ThreadPool>(static_cast<int>(runtime.threads));
  options.options = backend_options(request.config.backend_options);
  options.memory_limit = static_cast<std::uint64_t>(runtime.memory_limit);
  return Device::open(static_cast<const tv_backend*>(table), std::move(options));
}

std::string config_id(const std::string& text) {
  return fmt::format("{:08x}", libdeflate_crc32(0, text.data(), text.size()));
}

std::string_view name_of(Mode mode) {
  switch (mode) {
    case Mode::train:
      return "train";
    case Mode::eval:
      return "eval";
    case Mode::train_and_eval:
      return "train_and_eval";
  }
  return "";
}

// One run in its directory. Members are made in this order and die in the opposite one.
class Run {
 public:
  Run(const RunRequest& request, const RunDirectory& directory, Device& device,
      const TrainerConfig& fields, const StopSignals& signals);

  int execute();
  void fail(const std::string& reason) noexcept;

 private:
  void keep_config();
  void print_header();
  Controller::Outcome work(Controller& controller);
  void finish(const std::string& state);
  void keep_summary(const RunSummary& summary);

  const RunRequest& request_;
  const ExperimentConfig& experiment_;
  const RunDirectory& directory_;
  Device& device_;
  const TrainerConfig& fields_;
  const StopSignals& signals_;
  const std::string config_text_;
  Progress progress_;
  RunStats stats_;
  MetricsLog metrics_;
  EventLog log_;
  StatusFile status_;
  RunRecorder recorder_;
  CheckpointManager checkpoints_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<Trainer> trainer_;
};

Run::Run(const RunRequest& request, const RunDirectory& directory, Device& device,
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
      recorder_({progress_, metrics_, log_, status_, stats_, signals}, fields.train_steps,
                Value::table({{"config_id", config_id(config_text_)}, {"trivet", version()}})),
      checkpoints_(directory.file("checkpoints"), fields.max_to_keep,
                   [this](const std::string& text) { recorder_.warn(text); }) {}

int Run::execute() {
  status_.set_state("starting");
  keep_config();
  TaskContext task_context{device_, directory_.path()};
  task_ = make(experiment_.task, task_context);
  TrainerContext trainer_context{.task = *task_,
                                 .device = device_,
                                 .key = Key(static_cast<std::uint64_t>(experiment_.seed)),
                                 .train = experiment_.mode != Mode::eval,
                                 .eval = experiment_.mode != Mode::train,
                                 .observer = recorder_};
  trainer_ = make(experiment_.trainer, trainer_context);
  print_header();
  Controller controller(*trainer_, checkpoints_, recorder_,
                        {.train_steps = fields_.train_steps,
                         .steps_per_loop = fields_.steps_per_loop,
                         .validation_steps = fields_.validation_steps,
                         .validation_interval = fields_.validation_interval,
                         .checkpoint_interval = fields_.checkpoint_interval});
  if (work(controller) == Controller::Outcome::done) {
    finish("done");
    return 0;
  }
  finish(signals_.exit_code() == 130 ? "interrupted" : "preempted");
  return signals_.exit_code();
}

// Refuses a config that the run's checkpoints do not fit, before anything is changed.
void Run::keep_config() {
  const std::filesystem::path path = directory_.file("config.toml");
  std::error_code ignored;
  const bool exists = std::filesystem::exists(path, ignored);
  if (exists && !checkpoints_.steps().empty()) {
    const auto changes =
        config_changes(read_toml_file(path), read_toml(config_text_, path.string()));
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
  if (exists && experiment_.mode == Mode::eval) return;
  replace_file(path, config_text_, Durability::cached);
}

void Run::print_header() {
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
  if (experiment_.mode != Mode::eval) {
    text += fmt::format("\n  train     to step {}", fields_.train_steps);
  }
  progress_.print(text);
}

Controller::Outcome Run::work(Controller& controller) {
  controller.restore_or_initialize();
  if (experiment_.mode != Mode::eval) {
    if (trainer_->global_step() >= fields_.train_steps) {
      progress_.print(
          fmt::format("  step {} is reached already: nothing to train "
                      "(mode=eval evaluates, a larger trainer.train_steps goes on)",
                      trainer_->global_step()));
    }
    return experiment_.mode == Mode::train ? controller.train() : controller.train_and_evaluate();
  }
  if (checkpoints_.steps().empty() && task_->config().init_checkpoint.empty()) {
    recorder_.warn(
        fmt::format("{} has no checkpoint and task.init_checkpoint is not set: "
                    "evaluating untrained weights",
                    directory_.path().string()));
  }
  return controller.evaluate();
}

void Run::finish(const std::string& state) {
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
void Run::keep_summary(const RunSummary& summary) {
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
void Run::fail(const std::string& reason) noexcept {
  progress_.clear();
  try {
    if (trainer_) status_.set_step(trainer_->global_step());
    status_.set_state("failed", reason);
    log_.write("error", "failed", Value::table({{"message", reason}}));
  } catch (const std::exception&) {
  }
}

int run_in(const RunRequest& request, const RunDirectory& directory, Device& device,
           const TrainerConfig& fields, const StopSignals& signals) {
  Run run(request, directory, device, fields, signals);
  try {
    return run.execute();
  } catch (const std::exception& failure) {
    run.fail(failure.what());
    throw;
  }
}

// A config or a plugin at fault, found before the first step: as if nothing had been started.
bool leaves_nothing(const Error& failure) {
  return failure.exit_code() != RunError("").exit_code();
}

}  // namespace

int run_command(const RunRequest& request) {
  const FlushDenormals flush;
  const StopSignals signals;
  const ExperimentConfig& experiment = request.config.experiment;
  const TrainerConfig fields = trainer_fields(experiment.trainer);
  check_before_start(request.config, fields);
  const std::unique_ptr<Device> device = open_device(request);
  const std::string name = experiment.name.empty() ? request.name : experiment.name;
  RunDirectory directory = request.workdir.empty() ? RunDirectory::next("runs", name)
                                                   : RunDirectory::at(request.workdir);
  try {
    return run_in(request, directory, *device, fields, signals);
  } catch (const Error& failure) {
    std::error_code ignored;
    const bool started = std::filesystem::exists(directory.file("checkpoints"), ignored);
    if (leaves_nothing(failure) && !started) directory.remove_if_made();
    throw;
  }
}

}  // namespace trivet
