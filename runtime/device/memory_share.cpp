// SPDX-License-Identifier: Apache-2.0
#include "device/memory_share.h"

#include <algorithm>
#include <string_view>

#include "trivet/layer/scope.h"
#include "trivet/train/checkpoint.h"

namespace trivet {
namespace {

std::int64_t product(const MeshConfig& mesh, std::initializer_list<std::string_view> axes) {
  std::int64_t count = 1;
  for (const std::string_view axis : axes) count *= mesh.extent(axis);
  return count;
}

std::uint64_t divided(std::uint64_t amount, std::int64_t parts) {
  const auto by = static_cast<std::uint64_t>(parts);
  return (amount + by - 1) / by;
}

// Sums sizes by name, in the order of their first appearance.
class Parts {
 public:
  explicit Parts(const MeshConfig& mesh)
      : split_(product(mesh, {"data", "data_expert", "mdl", "stage"})) {}

  void add(std::string_view name, const std::string& variable, const Tensor& tensor) {
    const std::uint64_t bytes = tensor.bytes();
    MemoryPart& part = find(name);
    part.bytes += bytes;
    part.of_variables[variable] += bytes;
    part.device_bytes += tensor.rank() >= 2 ? divided(bytes, split_) : bytes;
  }
  std::vector<MemoryPart> take() { return std::move(parts_); }

 private:
  MemoryPart& find(std::string_view name) {
    const auto found = std::find_if(parts_.begin(), parts_.end(),
                                    [&](const MemoryPart& part) { return part.name == name; });
    return found != parts_.end() ? *found : parts_.emplace_back(MemoryPart{std::string(name)});
  }

  std::int64_t split_;
  std::vector<MemoryPart> parts_;
};

// Collects the sizes of the tensors that a trainer saves.
class Sizes final : public CheckpointWriter {
 public:
  explicit Sizes(Parts& parts) : parts_(parts) {}

  void write_tensors(std::string_view name, const NamedTensors& tensors) override {
    for (const auto& [path, tensor] : tensors) {
      // Slots are saved as PATH/SLOT.
      if (name == "optimizer") {
        const std::size_t slash = path.find_last_of('/');
        parts_.add(path.substr(slash + 1), path.substr(0, slash), tensor);
      }
      if (name == "ema") parts_.add("averages", path, tensor);
    }
  }
  void state(std::string_view, const Value&) override {}

 private:
  Parts& parts_;
};

}  // namespace

std::int64_t global_batch(const ExperimentConfig& experiment) {
  if (experiment.mesh.percore_batch_size > 0) return batch_share(experiment.mesh).global;
  const Value* rows = experiment.task.fields().find_path("train_input.batch_size");
  return rows != nullptr && rows->is_integer() ? rows->as_integer() * infeed_hosts(experiment) : 0;
}

std::int64_t infeed_hosts(const ExperimentConfig& experiment) {
  const Value* hosts = experiment.task.fields().find_path("train_input.num_infeed_hosts");
  return hosts != nullptr && hosts->is_integer() ? hosts->as_integer() : 1;
}

std::int64_t rows_per_device(const ExperimentConfig& experiment) {
  const std::int64_t groups = product(experiment.mesh, {"replica", "data", "data_expert"});
  return std::max<std::int64_t>(1, (global_batch(experiment) + groups - 1) / groups);
}

ConfigOf<Task> with_rows(const ConfigOf<Task>& task, std::int64_t rows) {
  Value value = task.to_value();
  Value* input = value.find("train_input");
  if (input == nullptr || !input->is_table()) return task;
  input->set("batch_size", rows);
  return ConfigOf<Task>(ConfigValue::from_value(value, Task::kKind, task.path()));
}

std::vector<MemoryPart> memory_parts(Trainer& trainer, const MeshConfig& mesh) {
  Parts parts(mesh);
  for (const auto& parameter : trainer.parameters().parameters()) {
    if (parameter->trainable()) parts.add("weights", parameter->path(), parameter->value());
  }
  for (const auto& parameter : trainer.parameters().parameters()) {
    parts.add(parameter->trainable()   ? "gradients"
              : parameter->is_frozen() ? "frozen"
                                       : "states",
              parameter->path(), parameter->value());
  }
  Sizes sizes(parts);
  trainer.save(sizes);
  return parts.take();
}

std::uint64_t share_of_step(std::uint64_t bytes, const MeshConfig& mesh) {
  return divided(bytes, product(mesh, {"mdl", "seq", "stage"}));
}

}  // namespace trivet
