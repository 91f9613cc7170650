// SPDX-License-Identifier: Apache-2.0
#include "processes/follower.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/process_info.h"
#include "config/modes.h"
#include "evaluation/eval_plan.h"
#include "host/loaded_plugins.h"
#include "processes/lead_trainer.h"
#include "processes/overlap_tuner.h"
#include "processes/own_directory.h"
#include "processes/part_saver.h"
#include "processes/process_task.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/plugin/registry.h"
#include "trivet/task.h"
#include "trivet/text/strings.h"
#include "trivet/version.h"

namespace trivet {
namespace {

// Rank 0 reports for all.
class FollowerObserver final : public TrainerObserver {
 public:
  // A tuner, unless the config says the overlap.
  FollowerObserver(World& world, const StopSignals& signals, PartSaver& saver, OverlapTuner* tuner)
      : world_(world), signals_(signals), saver_(saver), tuner_(tuner) {}

  bool wants_loss() const override { return false; }
  void on_train_step(std::int64_t, double, std::int64_t) override {
    if (tuner_ != nullptr) tuner_->after_step();
  }
  void on_eval_step(std::int64_t, std::int64_t) override {}
  bool stop_requested() const override {
    const bool stops =
        any_stops(exchange_records(world_, {.stops = signals_.requested() ? 1 : 0,
                                            .cpu_seconds = process_usage().cpu_seconds,
                                            .waited_seconds = world_.waited_seconds(),
                                            .report_bytes = saver_.send_report()}));
    if (tuner_ != nullptr) tuner_->before_step();
    return stops;
  }
  void note(const std::string&) override {}
  void warn(const std::string&) override {}

 private:
  World& world_;
  const StopSignals& signals_;
  PartSaver& saver_;
  OverlapTuner* tuner_;
};

void follow_run_in(const ResolvedConfig& config, const TrainerConfig& fields, Device& device,
                   const StopSignals& signals, World& world) {
  const ExperimentConfig& experiment = config.experiment;
  const std::string continued = broadcast_text(world, {});
  const OwnDirectory directory(world.rank());
  TaskContext task_context{device, directory.path(), continued};
  const std::unique_ptr<Task> task = make(task_of_process(experiment, world.rank()), task_context);
  PartSaver saver(world);
  std::optional<OverlapTuner> tuner;
  if (!experiment.mesh.overlap) {
    tuner.emplace(world, device, static_cast<std::uint64_t>(experiment.runtime.memory_limit.count),
                  OverlapTuner::Lead{});
  }
  FollowerObserver observer(world, signals, saver, tuner ? &*tuner : nullptr);
  TrainerContext context{.task = *task,
                         .device = device,
                         .key = RngKey(static_cast<std::uint64_t>(experiment.seed)),
                         .train = trains(experiment.mode),
                         .eval = evaluates(experiment.mode),
                         .observer = observer,
                         .mesh = experiment.mesh,
                         .processes = &world};
  const EvalPlan plan = eval_plan(experiment.mode, *task, fields);
  context.eval_main = plan.has_main();
  context.eval_sets = plan.indexes();
  const std::unique_ptr<Trainer> trainer = make(experiment.trainer, context);
  follow(*trainer, world, saver, experiment.mesh.timeout.seconds);
}

std::string description_of(const ResolvedConfig& config, const Device& device) {
  std::string text = fmt::format("trivet {}\nbackend {} ({})\n", version(), device.key(),
                                 static_cast<const char*>(device.info().name));
  for (const LoadedPlugin& plugin : loaded_plugins()) {
    text += fmt::format("plugin {} {} {}\n", plugin.name, plugin.version, plugin.digest);
  }
  return text + run_config_text(config);
}

// The first line that differs, on both sides.
std::string difference(const std::string& first, const std::string& other) {
  const std::vector<std::string_view> a = split(first, '\n'), b = split(other, '\n');
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::string_view left = i < a.size() ? a[i] : "(nothing)";
    const std::string_view right = i < b.size() ? b[i] : "(nothing)";
    if (left != right) return fmt::format("'{}' and '{}'", left, right);
  }
  return {};
}

}  // namespace

int follow_run(const ResolvedConfig& config, const TrainerConfig& fields, Device& device,
               const StopSignals& signals, World& world) {
  try {
    follow_run_in(config, fields, device, signals, world);
    return 0;  // a stop is the run's, and rank 0 has its exit code
  } catch (const Error& failure) {
    world.leave({.text = failure.message(), .plugin = failure.plugin(), .key = failure.key()});
    return failure.exit_code();
  } catch (const std::exception& failure) {
    world.leave({.text = failure.what()});
    return RunError("").exit_code();
  }
}

void check_same(const ResolvedConfig& config, const Device& device, World& world) {
  const std::vector<std::string> all = all_gather_text(world, description_of(config, device));
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    throw ConfigError(Diagnostic{
        .path = "mesh.processes",
        .what = fmt::format("process {} of {} differs from process 0: {}", rank, all.size(),
                            difference(all[0], all[rank])),
        .hint = "start all processes with the same config, version, plugins and kind of machine"});
  }
}

}  // namespace trivet
