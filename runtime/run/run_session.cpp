// SPDX-License-Identifier: Apache-2.0
#include "run/run_session.h"

#include <libdeflate.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/process_info.h"
#include "base/terminal_text.h"
#include "config/modes.h"
#include "config/resolver.h"
#include "device/check_mesh.h"
#include "device/peak_cache.h"
#include "evaluation/eval_plan.h"
#include "processes/lead_trainer.h"
#include "processes/process_task.h"
#include "profile/run_communication.h"
#include "run/continuous_eval.h"
#include "run/inspection.h"
#include "run/recorded_config.h"
#include "run/schedule_check.h"
#include "rundir/metrics_reader.h"
#include "step/config_faults.h"
#include "trivet/config/enums.h"
#include "trivet/error.h"
#include "trivet/extensions/token_count.h"
#include "trivet/os/file.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/plugin/registry.h"
#include "trivet/version.h"

namespace trivet {
namespace {

std::string config_id(const std::string& text) {
  return fmt::format("{:08x}", libdeflate_crc32(0, text.data(), text.size()));
}

// Continuous evaluation keeps only the checkpoint that it evaluates.
std::int64_t kept_by(Mode mode, const TrainerConfig& fields) {
  return follows(mode) ? 1 : fields.max_to_keep;
}

// They compare the metrics of evaluations.
bool runs_eval_actions(Mode mode) {
  const std::optional<EvalProgram>& program = traits_of(mode).program;
  return !program || *program == EvalProgram::eval;
}

}  // namespace

RunSession::RunSession(const RunRequest& request, const RunLocation& location, Device& device,
                       const TrainerConfig& fields, const StopSignals& signals, RunView& view)
    : request_(request),
      experiment_(request.config.experiment),
      directory_(location.directory),
      followed_(location.followed),
      device_(device),
      fields_(fields),
      signals_(signals),
      config_text_(run_config_text(
          request.config, fmt::format("The whole config of this run, from {}.", request.source))),
      view_(view),
      process_(device),
      stats_(device),
      metrics_(directory_.file("metrics.jsonl")),
      log_(directory_.file("log.jsonl")),
      status_(directory_.file("status.json"), std::string(enum_name(experiment_.mode)),
              fields.train_steps),
      recorder_({view_, metrics_, writers_, log_, status_, stats_, signals, process_,
                 trains(experiment_.mode), directory_.path(),
                 [this] { return trainer_->parameters().trainable_count(); },
                 [this] { directory_.check_in_place(); }},
                fields.train_steps,
                Value::table({{"config_id", config_id(config_text_)},
                              {"trivet", version()},
                              {"config", config_text_}})),
      checkpoints_(
          checkpoint_dir(),
          {.max_to_keep = kept_by(experiment_.mode, fields),
           .keep_every = fields.keep_checkpoint_every,
           .todelete_subdir = trains(experiment_.mode) ? fields.checkpoint_todelete_subdir : "",
           .async = fields.checkpoint_async,
           .step = request.step,
           .pass_over_damaged = trains(experiment_.mode)},
          [this](const std::string& text) { recorder_.warn(text); }),
      best_(directory_.file("best"), fields.best_checkpoint,
            [this](const std::string& text) { recorder_.warn(text); }) {}

int RunSession::execute() {
  Controller::Outcome outcome = Controller::Outcome::done;
  with_locations(request_.config.tree, [&] {
    status_.set_state("starting");
    check_config();
    make_parts();
    print_header();
    start();
    begun_ = true;
    if (trains(experiment_.mode)) best_.repair();
    if (changes_.empty()) {
      keep_config();
    } else {
      recorder_.warn("the config differs from that of the run, config.toml:\n" +
                     to_string(changes_));
      recorder_.before_first_result([this] { keep_config(); });
    }
    outcome = work();
    if (profile_) profile_->finish();
    check_peak();
    if (outcome == Controller::Outcome::done) recorder_.take_first_result();
    if (auto* lead = dynamic_cast<LeadTrainer*>(trainer_.get())) lead->end();
  });
  if (outcome == Controller::Outcome::done) {
    finish("done");
    return 0;
  }
  finish(signals_.exit_code() == 130 ? "interrupted" : "preempted");
  return signals_.exit_code();
}

// A damaged file of measurements costs one figure, but does not end the run.
void RunSession::find_peak() {
  if (task_->extension(kTaskTokenCount) == nullptr) return;
  try {
    stats_.set_peak_flops(peak_of_run(device_, experiment_.runtime));
  } catch (const Error& unreadable) {
    recorder_.warn(fmt::format("{}; the run reports no MFU", unreadable.message()));
  }
}

// No run comes near the peak: it was measured beside other work.
void RunSession::check_peak() {
  constexpr double kTooGood = 0.9;
  if (stats_.cost().mfu() < kTooGood) return;
  const double own = stats_.device_peak_flops();
  try {
    stats_.set_peak_flops(raise_peak(device_, experiment_.runtime, own));
  } catch (const Error& unreadable) {
    recorder_.warn(fmt::format("{}; the peak was not measured again", unreadable.message()));
  }
}

void RunSession::make_profile() {
  if (!request_.profile) return;
  profile_ = std::make_unique<StepProfile>(
      *request_.profile,
      StepProfile::Parts{.device = device_,
                         .directory = directory_.path(),
                         .peak_flops = [this] { return peak_of_run(device_, experiment_.runtime); },
                         .print = [this](const std::string& text) { view_.print(printable(text)); },
                         .warn = [this](const std::string& text) { recorder_.warn(text); }});
  recorder_.set_at_step([this](std::int64_t step) { profile_->at_step(step); });
}

void RunSession::make_parts() {
  make_profile();
  TaskContext task_context{device_, directory_.path(), followed_};
  build_from_config("task", experiment_.task.origin(),
                    [&] { task_ = make(task_of_process(experiment_, 0), task_context); });
  check_metric_names(request_.config, *task_, fields_);
  find_peak();
  TrainerContext trainer_context{.task = *task_,
                                 .device = device_,
                                 .key = RngKey(static_cast<std::uint64_t>(experiment_.seed)),
                                 .train = trains(experiment_.mode),
                                 .eval = evaluates(experiment_.mode),
                                 .observer = recorder_};
  const EvalPlan plan = eval_plan(experiment_.mode, *task_, fields_);
  trainer_context.eval_main = plan.has_main();
  trainer_context.eval_sets = plan.indexes();
  trainer_context.mesh = experiment_.mesh;
  trainer_context.processes = request_.world;
  build_from_config("", experiment_.trainer.origin(),
                    [&] { trainer_ = make(experiment_.trainer, trainer_context); });
  check_trainer(request_.config, *trainer_);
  if (request_.world != nullptr) lead_processes();
  ActionContext action_context{.task = *task_,
                               .trainer = *trainer_,
                               .directory = directory_.path(),
                               .say = [this](const std::string& text) { recorder_.say(text); }};
  writers_.open(fields_.summary_writers, directory_.path());
  const auto actions = [&](const std::vector<ConfigOf<Action>>& configs, const char* field,
                           RunLog::Of of) {
    return std::make_unique<ActionList>(
        configs, action_context,
        ActionList::Options{.field = field,
                            .of = of,
                            .trains = trains(experiment_.mode),
                            .warn = [this](const std::string& text) { recorder_.warn(text); }});
  };
  train_actions_ = actions(fields_.train_actions, "trainer.train_actions", RunLog::Of::training);
  if (runs_eval_actions(experiment_.mode)) {
    eval_actions_ = actions(fields_.eval_actions, "trainer.eval_actions", RunLog::Of::evaluation);
  }
  controller_.emplace(
      Controller::Parts{.trainer = *trainer_,
                        .checkpoints = checkpoints_,
                        .events = recorder_,
                        .best = evaluates_once(experiment_.mode) ? nullptr : &best_,
                        .train_actions = train_actions_.get(),
                        .eval_actions = eval_actions_.get()},
      ControllerOptions{.train_steps = fields_.train_steps,
                        .steps_per_loop = fields_.steps_per_loop,
                        .evaluations = plan,
                        .checkpoint_interval = fields_.checkpoint_interval,
                        .save_checkpoints = fields_.save_checkpoints,
                        .checkpoint_at_start =
                            fields_.checkpoint_at_start || (fields_.recovery == Recovery::restore &&
                                                            fields_.recovery_max_trials > 0)});
  recorder_.set_pause([this] { return controller_->wants_pause(); });
}

void RunSession::lead_processes() {
  World& world = *request_.world;
  world.set_timeout(experiment_.mesh.timeout.seconds);
  overlap_ =
      make_overlap_tuner({.config = request_.config,
                          .directory = directory_.path(),
                          .world = world,
                          .device = device_,
                          .trainer = *trainer_,
                          .note = [this](const std::string& text) { recorder_.note(text); },
                          .warn = [this](const std::string& text) { recorder_.warn(text); }});
  trainer_ = std::make_unique<LeadTrainer>(std::move(trainer_), world);
  FollowerWriters& writers = writers_of_others_.emplace(world);
  checkpoints_.share(writers);
  best_.share(writers);
  recorder_.set_agreement([this, &world, &writers](bool stops) {
    const std::vector<StepRecord> all =
        exchange_records(world, {.stops = stops ? 1 : 0,
                                 .cpu_seconds = process_usage().cpu_seconds,
                                 .waited_seconds = world.waited_seconds()});
    writers.receive(all);
    RunStats::Processes seen;
    for (const StepRecord& record : all) {
      seen.cpu_seconds += record.cpu_seconds;
      seen.waited_seconds.push_back(record.waited_seconds);
    }
    stats_.set_processes(std::move(seen));
    if (overlap_) overlap_->before_step();
    return any_stops(all);
  });
  recorder_.set_after_step([this] {
    if (overlap_) overlap_->after_step();
  });
}

// Rejects a config whose weights differ from those of the run's checkpoints, before anything is
// changed. An evaluation only needs weights that fit.
void RunSession::check_config() {
  check_saved_weights();
  const std::filesystem::path before = follows(experiment_.mode) || followed_.empty()
                                           ? directory_.file("config.toml")
                                           : followed_ / "config.toml";
  changes_ = changes_since_start(before, checkpoints_, plain_config(request_.config),
                                 [this](const std::string& text) { recorder_.warn(text); });
  // A mode of one program adds its data set.
  if (!runs_eval_actions(experiment_.mode)) {
    std::erase_if(changes_, [](const ConfigChange& change) {
      return change.path.starts_with("task.eval_inputs");
    });
  }
  const bool breaks = std::any_of(changes_.begin(), changes_.end(),
                                  [](const ConfigChange& change) { return change.breaks; });
  if (breaks && trains(experiment_.mode)) throw other_weights("");
}

// Refuses to evaluate a run that was trained and saved nothing.
void RunSession::check_saved_weights() const {
  if (fields_.save_checkpoints || trains(experiment_.mode)) return;
  const std::filesystem::path& run = followed_.empty() ? directory_.path() : followed_;
  const bool evaluates_own = evaluates_once(experiment_.mode);
  if (evaluates_own &&
      (!checkpoints_.steps().empty() || !last_records(run / "metrics.jsonl").train)) {
    return;
  }
  const std::string what = evaluates_own ? shown_run() + " was trained, but has no checkpoint"
                                         : shown_run() + " saves no checkpoint to evaluate";
  throw ConfigError(Diagnostic{.path = "trainer.save_checkpoints",
                               .what = "is false: " + what,
                               .hint = "train it with trainer.save_checkpoints=true"});
}

// `reason` is the error of restoring, if it was tried.
ConfigError RunSession::other_weights(const std::string& reason) const {
  std::vector<ConfigChange> breaking;
  for (const ConfigChange& change : changes_) {
    if (change.breaks || !reason.empty()) breaking.push_back(change);
  }
  // Those of the weights are the likely cause.
  std::stable_partition(breaking.begin(), breaking.end(),
                        [](const ConfigChange& change) { return change.breaks; });
  return ConfigError(Diagnostic{
      .path = breaking.front().path,
      .what = fmt::format("{} contains checkpoints of another task or model:\n{}{}{}", shown_run(),
                          to_string(breaking), reason.empty() ? "" : "\n", reason),
      .hint = "choose another --workdir; task.init_checkpoint starts a new run from these weights; "
              "trivet explain KEY says which fields may change when a run continues"});
}

// After the checkpoint is restored: a rejected config changes nothing. A changed one replaces that
// of the run only once it has given a result. An evaluation has its own config next to its results.
void RunSession::keep_config() {
  const std::filesystem::path path = directory_.file("config.toml");
  if (follows(experiment_.mode) && is_there(path)) return;
  // Syncs it before the first checkpoint, which is useless without it.
  replace_file(path, config_text_, Durability::synced);
}

// Restores the run's checkpoint or initializes.
void RunSession::start() {
  if (follows(experiment_.mode)) return;
  if (checkpoints_.steps().empty()) {
    build_from_config("task.init_checkpoint", experiment_.task.origin(),
                      [&] { controller_->restore_or_initialize(); });
    return;
  }
  try {
    controller_->restore_or_initialize();
  } catch (const UnusableCheckpoint&) {
    throw;
  } catch (const RunError& failure) {
    if (changes_.empty() || is_of_machine(failure)) throw;
    throw other_weights(failure.message());
  }
}

Controller::Outcome RunSession::work() {
  if (trains(experiment_.mode) && fields_.learning_rate.has_value()) {
    const auto rate = make(fields_.learning_rate);
    const std::string odd = in_plugin(item_of(*rate), "value", "trainer.learning_rate",
                                      [&] { return schedule_warning(*rate, fields_.train_steps); });
    if (!odd.empty()) recorder_.warn(odd);
  }
  if (trains(experiment_.mode)) {
    const std::string unused = unused_overlap(experiment_.mesh, request_.world, *trainer_);
    if (!unused.empty()) recorder_.warn(unused);
  }
  if (follows(experiment_.mode)) return follow();
  show_config();
  report_init();
  if (trains(experiment_.mode)) {
    const std::int64_t step = trainer_->global_step();
    if (const std::optional<std::string> reason = controller_->stopped_by_action()) {
      view_.print(printable(fmt::format(
          "  the training ended at step {}: {}: nothing to train "
          "(mode=eval evaluates; it continues when trainer.train_actions or eval_actions change)",
          step, *reason)));
    } else if (step >= fields_.train_steps) {
      view_.print(
          fmt::format("  step {} is already reached: nothing to train "
                      "(mode=eval evaluates, a larger trainer.train_steps continues)",
                      step));
    }
    const Evaluates evaluates = traits_of(experiment_.mode).evaluates;
    if (evaluates == Evaluates::intervals) return controller_->train_and_evaluate();
    const Controller::Outcome trained = controller_->train();
    return evaluates == Evaluates::last ? post_evaluate(trained) : trained;
  }
  if (checkpoints_.steps().empty() && task_->config().init_checkpoint.empty()) {
    recorder_.warn(
        fmt::format("{} has no checkpoint and task.init_checkpoint is not set: "
                    "evaluating untrained weights",
                    shown_run()));
  }
  return controller_->evaluate();
}

Controller::Outcome RunSession::post_evaluate(Controller::Outcome trained) {
  const bool on_record = recorder_.is_evaluated(trainer_->global_step());
  return trained == Controller::Outcome::done && !on_record ? controller_->evaluate() : trained;
}

// Continuous evaluation imports each new checkpoint; a single evaluation reads those of the run.
std::filesystem::path RunSession::checkpoint_dir() const {
  const bool reads = evaluates_once(experiment_.mode) && !followed_.empty();
  return (reads ? followed_ : directory_.path()) / "checkpoints";
}

// The directory of these checkpoints, as named by the user.
std::string RunSession::shown_run() const {
  const bool reads = evaluates_once(experiment_.mode) && !followed_.empty();
  return (reads ? followed_ : directory_.shown()).string();
}

Controller::Outcome RunSession::follow() {
  ContinuousEval eval({.trainer = *trainer_,
                       .controller = *controller_,
                       .checkpoints = checkpoints_,
                       .recorder = recorder_,
                       .status = status_,
                       .metrics = metrics_},
                      {.directory = followed_,
                       .config = plain_config(request_.config),
                       .train_steps = fields_.train_steps,
                       .timeout = fields_.continuous_eval_timeout.seconds});
  return eval.run();
}

}  // namespace trivet
