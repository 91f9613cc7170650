// SPDX-License-Identifier: Apache-2.0
#include "train/run.h"

#include <memory>

#include "train/continuous_train.h"
#include "train/run_directory.h"
#include "train/run_start.h"
#include "train/signals.h"
#include "trivet/error.h"
#include "trivet/thread_pool.h"

namespace trivet {
namespace {

// Continuous evaluation has a directory of its own in that of the run it follows.
RunDirectory directory_of(const RunRequest& request) {
  const ExperimentConfig& experiment = request.config.experiment;
  const std::string name = experiment.name.empty() ? request.name : experiment.name;
  if (experiment.mode == Mode::continuous_eval) {
    if (request.workdir.empty()) {
      throw UsageError("mode continuous_eval needs --workdir: the directory of the run to follow");
    }
    return RunDirectory::at(request.workdir / "continuous_eval");
  }
  return request.workdir.empty() ? RunDirectory::next("runs", name)
                                 : RunDirectory::at(request.workdir);
}

// Better than to train as if the rest of the mesh were not meant.
void check_mesh(const ResolvedConfig& config) {
  const MeshConfig& mesh = config.experiment.mesh;
  if (mesh.devices() <= 1) return;
  const Value* shape = config.tree.find_path("mesh.ici_mesh_shape");
  throw ConfigError(
      Problem{.where = shape != nullptr ? shape->origin() : Origin{},
              .path = "mesh",
              .what = "is of " + std::to_string(mesh.devices()) +
                      " devices, and a run uses one: it cannot be done here",
              .hint = "trivet summary tells what each device would do and hold; for a run on this "
                      "one, leave [mesh] out or set mesh.ici_mesh_shape=[] and "
                      "mesh.dcn_mesh_shape=[]"});
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
  check_mesh(request.config);
  const bool many = experiment.mode == Mode::continuous_train_and_eval;
  if (many) check_continuous_train(request.config);
  const std::unique_ptr<Device> device = many ? nullptr : open_device(request);
  RunDirectory directory = directory_of(request);
  try {
    if (many) return ContinuousTrain(request, directory, fields, signals).run();
    return run_in(request, directory, *device, fields, signals);
  } catch (const Error& failure) {
    std::error_code ignored;
    const bool started = std::filesystem::exists(directory.file("checkpoints"), ignored);
    if (leaves_nothing(failure) && !started) directory.remove_if_made();
    throw;
  }
}

}  // namespace trivet
