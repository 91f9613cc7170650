// SPDX-License-Identifier: Apache-2.0
// TrainedModel: the model of a run with the weights of one of its checkpoints, for commands that
// use it. Reads the run; takes no lock and changes nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "config/resolver.h"
#include "trivet/model.h"
#include "trivet/task.h"
#include "trivet/tensor/device.h"
#include "trivet/train/checkpoint.h"

namespace trivet {

// The files of a run, found from its directory or one of its checkpoints.
struct RunCheckpoint {
  std::filesystem::path config;      // the run's config.toml
  std::filesystem::path checkpoint;  // the newest, if the run was named
};
// Throws UsageError if `path` is neither, RunError if the run has no checkpoint.
RunCheckpoint find_run_checkpoint(const std::filesystem::path& path);

class TrainedModel {
 public:
  // Moving averages replace the weights if the checkpoint has them, as in evaluations, unless
  // task.init_load.averages is false. Throws the errors of a run. [main-thread]
  TrainedModel(const ResolvedConfig& config, const RunCheckpoint& location);
  // On a device that is open, which must outlive it; the config's runtime has no effect.
  TrainedModel(const ResolvedConfig& config, const RunCheckpoint& location, Device& device);
  ~TrainedModel();

  Task& task() { return *task_; }
  Model& model() { return *model_; }
  Device& device() { return device_; }
  NamedTensors weights() const;
  std::int64_t step() const { return step_; }
  bool averaged() const { return averaged_; }  // whether they did

 private:
  TrainedModel(const ResolvedConfig& config, const RunCheckpoint& location,
               std::unique_ptr<Device> device);
  void load(const std::filesystem::path& checkpoint);
  void load_averages(const CheckpointReader& reader);

  std::unique_ptr<Device> own_device_;
  Device& device_;
  std::unique_ptr<Task> task_;
  std::optional<ParameterStore> store_;
  std::unique_ptr<Model> model_;
  std::int64_t step_ = 0;
  bool averaged_ = false;
};

}  // namespace trivet
