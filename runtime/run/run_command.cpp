// SPDX-License-Identifier: Apache-2.0
#include "run/run_command.h"

#include <memory>
#include <optional>

#include <fmt/core.h>

#include "base/stop_signals.h"
#include "config/modes.h"
#include "config/resolver.h"
#include "config/run_rules.h"
#include "device/check_mesh.h"
#include "processes/follower.h"
#include "processes/slice_hosts.h"
#include "profile/run_communication.h"
#include "run/continuous_train.h"
#include "run/run_session.h"
#include "run/run_start.h"
#include "rundir/evaluations.h"
#include "rundir/run_directory.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/config/enums.h"
#include "trivet/error.h"

namespace trivet {
namespace {

// Continuous evaluation has its own directory inside that of the followed run.
RunDirectory directory_of(const RunRequest& request) {
  const ExperimentConfig& experiment = request.config.experiment;
  const std::string name = experiment.name.empty() ? request.name : experiment.name;
  if (follows(experiment.mode)) {
    if (request.workdir.empty()) {
      throw UsageError(fmt::format("mode {} needs --workdir: the directory of the run to follow",
                                   enum_name(experiment.mode)));
    }
    std::string directory(traits_of(experiment.mode).directory);
    if (!request.evaluation.empty()) directory += "-" + request.evaluation;
    return RunDirectory::at(request.workdir / directory);
  }
  return request.workdir.empty() ? RunDirectory::next(request.root, name)
                                 : RunDirectory::at(request.workdir);
}

// Whether the directory has records of a training run.
bool holds_training(const std::filesystem::path& directory) {
  std::error_code ignored;
  if (std::filesystem::exists(directory / "checkpoints", ignored)) return true;
  const std::filesystem::path config = directory / "config.toml";
  if (!std::filesystem::exists(config, ignored)) return false;
  const Value tree = read_run_config(config);
  const Value* mode = tree.find("mode");
  if (mode == nullptr || !mode->is_string()) return true;
  const std::optional<Mode> known = enum_from_name<Mode>(mode->as_string());
  return !known || !evaluates_once(*known);
}

// An evaluation of a run does not change the records of training and has its own in evals/N/.
std::optional<RunDirectory> evaluation_in(const RunDirectory& run, Mode mode) {
  if (!evaluates_once(mode) || !holds_training(run.path())) return std::nullopt;
  return RunDirectory::next_number(run.path() / kEvaluationsDirectory);
}

std::filesystem::path followed_by(const RunDirectory& run, Mode mode, bool apart) {
  if (follows(mode)) return run.path().parent_path();
  return apart ? run.path() : std::filesystem::path();
}

// A caller that is no command starts no processes.
void check_processes(const RunRequest& request) {
  const ExperimentConfig& experiment = request.config.experiment;
  if (!trains(experiment.mode) || experiment.mesh.processes == 1 || request.world != nullptr) {
    return;
  }
  throw ConfigError(Diagnostic{
      .path = "mesh.processes",
      .what = fmt::format("is {}, and this run has one process", experiment.mesh.processes),
      .hint = "set mesh.processes=1 for the same results, or use trivet run"});
}

}  // namespace

void check_config(const ResolvedConfig& config) {
  check_run(config);
  check_before_start(config, trainer_fields(config.experiment.trainer));
  check_mesh(config);
  check_communication(config);
  if (traits_of(config.experiment.mode).target != ModeTarget::restarts) return;
  check_continuous_train(config);
  if (config.experiment.mesh.processes == 1) return;
  throw ConfigError(
      Diagnostic{.path = "mesh.processes",
                 .what = "is more than 1, and a run that starts others is one process",
                 .hint = "set mesh.processes=1 for the same results"});
}

int run_command(const RunRequest& request, RunView& view) {
  const FlushDenormals flush;
  const StopSignals signals;
  const ExperimentConfig& experiment = request.config.experiment;
  const TrainerConfig fields = trainer_fields(experiment.trainer);
  check_config(request.config);
  check_processes(request);
  const bool many = traits_of(experiment.mode).target == ModeTarget::restarts;
  std::optional<WorkIsDone>
      done;  // while the objects of the run are destroyed, including its device
  const std::unique_ptr<Device> device = many ? nullptr : open_device(request);
  if (request.world != nullptr) {
    check_same(request.config, *device, *request.world);
    check_slices(request.config, *request.world);
    if (request.world->rank() > 0) {
      return follow_run(request.config, fields, *device, signals, *request.world);
    }
  }
  RunDirectory run = directory_of(request);
  std::optional<RunDirectory> evaluation = evaluation_in(run, experiment.mode);
  RunDirectory& directory = evaluation ? *evaluation : run;
  if (request.directory != nullptr) *request.directory = directory.path();
  if (request.world != nullptr) {
    broadcast_text(*request.world, holds_training(directory.path()) ? directory.path() : "");
  }
  try {
    if (many) return ContinuousTrain(request, directory, fields, signals, view).run();
    return run_in(request, {directory, followed_by(run, experiment.mode, evaluation.has_value())},
                  *device, fields, signals, view, &done);
  } catch (const Error& failure) {
    std::error_code ignored;
    const bool started = std::filesystem::exists(directory.file("checkpoints"), ignored);
    if (is_refusal(failure) && !started) directory.remove_if_made();
    throw;
  }
}

}  // namespace trivet
