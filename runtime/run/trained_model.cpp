// SPDX-License-Identifier: Apache-2.0
#include "run/trained_model.h"

#include <algorithm>
#include <string>

#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_tools.h"
#include "run/run_start.h"
#include "step/step_parts.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

// RUN/checkpoints/step_100 and RUN/best/step_100 are two levels below the run.
constexpr int kLevels = 3;

NamedTensors tensors_of(const ParameterStore& store) {
  NamedTensors tensors;
  for (const auto& parameter : store.parameters()) {
    tensors.emplace_back(parameter->path(), parameter->value());
  }
  return tensors;
}

std::unique_ptr<Device> open_device_of(const ResolvedConfig& config) {
  RunRequest request;
  request.config = config;
  return open_device(request);
}

}  // namespace

RunCheckpoint find_run_checkpoint(const fs::path& path) {
  std::error_code ignored;
  fs::path directory = fs::absolute(path).lexically_normal();
  if (!directory.has_filename()) directory = directory.parent_path();
  for (int level = 0; level < kLevels; ++level, directory = directory.parent_path()) {
    const fs::path config = directory / "config.toml";
    if (fs::is_regular_file(config, ignored)) return {config, checkpoint_at(path)};
  }
  throw UsageError(
      "'" + path.string() + "' is not a run or a checkpoint of a run: it has no config.toml",
      {.hint = "trivet ls DIR lists the runs below a directory"});
}

TrainedModel::TrainedModel(const ResolvedConfig& config, const RunCheckpoint& location,
                           std::unique_ptr<Device> device)
    : TrainedModel(config, location, *device) {
  own_device_ = std::move(device);
}

TrainedModel::TrainedModel(const ResolvedConfig& config, const RunCheckpoint& location)
    : TrainedModel(config, location, open_device_of(config)) {}

TrainedModel::TrainedModel(const ResolvedConfig& config, const RunCheckpoint& location,
                           Device& device)
    : device_(device) {
  TaskContext context{device_, {}, location.config.parent_path()};
  task_ = make(config.experiment.task, context);
  store_.emplace(device_, RngKey(static_cast<std::uint64_t>(config.experiment.seed)));
  Scope scope(*store_);
  model_ = build_model(*task_, task_->config().model, scope);
  store_->build_to_load();
  load(location.checkpoint);
}

TrainedModel::~TrainedModel() = default;

NamedTensors TrainedModel::weights() const {
  return tensors_of(*store_);
}

void TrainedModel::load(const fs::path& checkpoint) {
  const CheckpointDirectoryReader reader(checkpoint);
  step_ = reader.step();
  NamedTensors weights = this->weights();
  reader.read_tensors("model", weights);
  const std::vector<std::string> files = tensor_files(checkpoint);
  const std::optional<bool>& wanted = task_->config().init_load.averages;
  // An average without updates does not count. Third-party trainers may not count updates.
  const bool has_averages = std::find(files.begin(), files.end(), "ema") != files.end() &&
                            reader.state("trainer").integer_or("updates", 1) > 0;
  if (wanted.value_or(false) && !has_averages) {
    throw RunError(reader.description() + " has no moving averages",
                   {.path = "task.init_load.averages"});
  }
  if (has_averages && wanted.value_or(true)) load_averages(reader);
}

void TrainedModel::load_averages(const CheckpointReader& reader) {
  NamedTensors weights = this->weights();
  const Value* states = reader.state("trainer").find("ema_states");
  const bool with_states = states != nullptr && states->as_boolean();
  std::erase_if(weights, [&](const auto& entry) {
    return !with_states && !store_->find(entry.first)->trainable();
  });
  reader.read_tensors("ema", weights, OtherTensors::ignored);
  averaged_ = true;
}

}  // namespace trivet
