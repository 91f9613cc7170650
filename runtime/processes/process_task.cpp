// SPDX-License-Identifier: Apache-2.0
#include "processes/process_task.h"

#include "device/memory_share.h"
#include "trivet/backend/mesh_layout.h"

namespace trivet {

ConfigOf<Task> task_of_process(const ExperimentConfig& experiment, std::int64_t rank) {
  const std::int64_t hosts = infeed_hosts(experiment), processes = experiment.mesh.processes;
  if (hosts == 1 || processes == 1) return experiment.task;
  const MeshLayout layout(experiment.mesh);
  const MeshLayout::Run own = layout.shards_of(rank, processes);
  const std::int64_t parts = layout.shards() / own.count, index = own.first / own.count;
  // A config as it was written tells where it is.
  if (hosts == parts && index == 0) return experiment.task;
  Value value = experiment.task.to_value();
  Value& input = *value.find("train_input");
  input.set("batch_size", global_batch(experiment) / parts);
  input.set("num_infeed_hosts", parts);
  input.set("infeed_host_index", index);
  return ConfigOf<Task>(ConfigValue::from_value(value, Task::kKind, experiment.task.path()));
}

}  // namespace trivet
