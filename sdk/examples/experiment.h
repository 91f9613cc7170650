// SPDX-License-Identifier: Apache-2.0
// The experiment "wave": a small network learns a sine, with classes of this plugin for most parts.
// It is the config wave.toml, made by code, in fewer steps.
//
//   $ trivet run --experiment examples/wave
#pragma once

#include <trivet/experiment.h>

#include "input.h"
#include "model.h"
#include "task.h"

namespace acme {

// [experiment]
inline trivet::ExperimentConfig wave() {
  WaveConfig points;
  points.examples = 512;
  points.batch_size = 32;
  RegressionConfig task;
  task.train_input = points;
  // [parts]
  RegressorConfig model;
  model.hidden_dims = {16};
  task.model = model;
  task.metrics = {
      {"examples/RSquared", trivet::Value::table({{"name", "fit"}, {"in_training", true}})}};
  // [/parts]
  trivet::ExperimentConfig config;
  config.mode = trivet::Mode::train;
  config.task = task;
  config.trainer = {"trivet/Trainer", trivet::Value::table({{"train_steps", 200},
                                                            {"optimizer", "examples/Adadelta"},
                                                            {"learning_rate", 1}})};
  return config;
}
// [/experiment]

// No batch may hold padding.
// [restriction]
inline void has_whole_batches(const trivet::ExperimentConfig& config,
                              trivet::Diagnostics& problems) {
  const trivet::Value* input = config.task.fields().find("train_input");
  if (input == nullptr) return;
  const std::int64_t examples = input->integer_or("examples", 0);
  if (examples % input->integer_or("batch_size", 1) == 0) return;
  problems.add("task.train_input.batch_size", "must divide the number of examples", "set 32");
}
// [/restriction]

}  // namespace acme
