// SPDX-License-Identifier: Apache-2.0
// ExperimentConfig: everything a run needs, and the shape of a run's TOML file.
//
// A plugin registers experiments as functions that return a fresh one.
//
// Example (sdk/examples/experiment.h#experiment):
//
//   inline trivet::ExperimentConfig wave() {
//     WaveConfig points;
//     points.examples = 512;
//     points.batch_size = 32;
//     RegressionConfig task;
//     task.train_input = points;
//     RegressorConfig model;
//     model.hidden_dims = {16};
//     task.model = model;
//     task.metrics = {
//         {"examples/RSquared", trivet::Value::table({{"name", "fit"}, {"in_training", true}})}};
//     trivet::ExperimentConfig config;
//     config.mode = trivet::Mode::train;
//     config.task = task;
//     config.trainer = {"trivet/Trainer", trivet::Value::table({{"train_steps", 200},
//                                                               {"optimizer", "examples/Adadelta"},
//                                                               {"learning_rate", 1}})};
//     return config;
//   }
//
// `trivet run --experiment examples/wave` starts from it; files and overrides are laid over it, and
// [defaults."plugin/Name"] changes what the function left at the struct's default. A TOML file
// PLUGIN_DIR/vision/configs/cnn.toml beside the library is an experiment "vision/cnn" likewise.
//
// What must hold between parts of an experiment, whatever is laid over it, is checked by a second
// function, with everything else and before anything is created.
//
// Example (sdk/examples/experiment.h#restriction):
//
//   inline void has_whole_batches(const trivet::ExperimentConfig& config,
//                                 trivet::Diagnostics& problems) {
//     const trivet::Value* input = config.task.fields().find("train_input");
//     if (input == nullptr) return;
//     const std::int64_t examples = input->integer_or("examples", 0);
//     if (examples % input->integer_or("batch_size", 1) == 0) return;
//     problems.add("task.train_input.batch_size", "must divide the number of examples", "set 32");
//   }
//
// TRIVET_PLUGIN lists the experiment with this function, or without one.
//
// Example (sdk/examples/plugin.cpp#experiment):
//
//   trivet::experiment<&acme::wave, &acme::has_whole_batches>("wave", "A network learns a sine."),
//
// In `config` every default is filled in. The run's config.toml names the experiment in
// `restrictions`, so that a run that continues, or starts from that file, is bound as well (and
// needs this plugin). A rule of a config type that holds in every use belongs in its own `validate`
// instead (config.h).
//
// The keys experiment, restrictions, base, defaults, sweep, xp and backend of a file are resolved
// and removed before an ExperimentConfig is decoded. A run only ever sees it const.
#pragma once

#include <cstdint>
#include <string>

#include "trivet/backend/mesh.h"
#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/task.h"
#include "trivet/trainer.h"

namespace trivet {

enum class Mode {
  train,
  eval,                 // what the run's newest checkpoint is worth
  train_and_eval,       // evaluates at validation_interval and at the end
  train_and_post_eval,  // evaluates at the end alone
  continuous_eval,      // evaluates the checkpoints that another process writes
  // A short run of its own from each checkpoint that another process writes.
  continuous_train_and_eval,
  decode,  // what the run's newest checkpoint writes for task.eval_inputs
  infer,   // what it predicts for them
};
TRIVET_ENUM(Mode, train, eval, train_and_eval, train_and_post_eval, continuous_eval,
            continuous_train_and_eval, decode, infer)

enum class ComputeDType { f32 };
TRIVET_ENUM(ComputeDType, f32)

struct RuntimeConfig {
  std::string backend = "cpu/Highway";
  std::int64_t device = 0;
  std::int64_t threads = 0;
  ComputeDType dtype = ComputeDType::f32;
  Bytes memory_limit = 0;
  double peak_flops = 0;
};
TRIVET_CONFIG(
    RuntimeConfig, trivet::NoBase, (backend, "The compute backend, plugin/Name."),
    (device, "Index of the backend's device.", at_least(0)),
    (threads,
     "Number of compute threads; 0: one per core that this process may use. Results do "
     "not depend on the number.",
     at_least(0), at_most(1024)),
    (dtype, "Type that layers compute in."),
    (memory_limit, "Limit of a run's device memory, such as \"8GiB\". 0: no limit.", at_least(0)),
    (peak_flops,
     "Peak FLOP/s of one device, for MFU. 0: the value of the backend, or the measured one "
     "of this machine.",
     at_least(0)))

struct ExperimentConfig {
  std::string name;
  Mode mode = Mode::train_and_eval;
  std::int64_t seed = 0;
  ConfigOf<Task> task;
  ConfigOf<Trainer> trainer = "trivet/Trainer";
  RuntimeConfig runtime;
  MeshConfig mesh;

  // task.train_input.batch_size % trainer.gradient_accumulation == 0, the inputs' share of the
  // batch is that of mesh.percore_batch_size, and task.eval_inputs have different names.
  TRIVET_API void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(ExperimentConfig, trivet::NoBase,
              (name, "Name of the run's directory; empty: the file's.", adjustable),
              (mode, "Work of trivet run.", adjustable),
              (seed, "Seed of weights and dropout; inputs have their own.", adjustable),
              (task, "The problem.", required), (trainer, "Settings of training."),
              (runtime, "Backend, threads and memory.", adjustable),
              (mesh, "Devices over which the work is distributed.", adjustable))

}  // namespace trivet
