// SPDX-License-Identifier: Apache-2.0
#include "device/check_mesh.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "config/modes.h"
#include "device/memory_share.h"
#include "step/step_parts.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/error.h"
#include "trivet/layer/layer_trace.h"
#include "trivet/tensor/mesh.h"

namespace trivet {
namespace {

[[noreturn]] void refuse(const ResolvedConfig& config, const std::string& path, std::string what,
                         std::string hint) {
  const Value* value = config.tree.find_path(path);
  throw ConfigError(Diagnostic{.where = value != nullptr ? value->origin() : Origin{},
                               .path = path,
                               .what = std::move(what),
                               .hint = std::move(hint)});
}

// An input gives all processes the whole batch, or each its own part.
void check_hosts(const ResolvedConfig& config) {
  const ExperimentConfig& experiment = config.experiment;
  const std::int64_t hosts = infeed_hosts(experiment), processes = experiment.mesh.processes;
  const Value* index = experiment.task.fields().find_path("train_input.infeed_host_index");
  if (processes > 1 && index != nullptr && *index != Value(std::int64_t{0})) {
    refuse(config, "task.train_input.infeed_host_index",
           "is " + to_toml(*index) + ", and each process of a run has one of its own", "remove it");
  }
  const MeshLayout layout(experiment.mesh);
  const std::int64_t parts = layout.shards() / layout.shards_of(0, processes).count;
  const bool is_of_mesh = experiment.mesh.percore_batch_size > 0 &&
                          hosts == batch_share(experiment.mesh).num_infeed_hosts;
  if (hosts == 1 || hosts == processes || hosts == parts || is_of_mesh) return;
  refuse(config, "task.train_input.num_infeed_hosts",
         fmt::format("is {}, and mesh.processes is {}", hosts, processes),
         "remove it: each process trains its part of the batch");
}

}  // namespace

void check_mesh(const ResolvedConfig& config) {
  const ExperimentConfig& experiment = config.experiment;
  const MeshConfig& mesh = experiment.mesh;
  if (!trains(experiment.mode) || mesh.devices() <= 1) return;
  const std::int64_t shards = MeshLayout(mesh).shards(), batch = global_batch(experiment);
  check_hosts(config);
  if (batch % shards == 0) return;
  refuse(config, "mesh",
         fmt::format("cuts a batch into {} shards, which do not divide its {} examples", shards,
                     batch),
         "set task.train_input.batch_size to a multiple, or change mesh.ici_mesh_shape");
}

void check_split(Task& task, const MeshConfig& mesh) {
  const auto is_one = [&](std::string_view axis) { return mesh.extent(axis) == 1; };
  if (std::ranges::all_of(MeshLayout::kInnerAxes, is_one)) return;
  const LayerTrace apart;  // from that of the model that is trained
  const Mesh axes(mesh);
  ParameterStore store(task.device(), RngKey(0));
  Scope root(store, axes);
  build_model(task, task.config().model, root);
}

void check_trainer(const ResolvedConfig& config, const Trainer& trainer) {
  const ExperimentConfig& experiment = config.experiment;
  if (!trains(experiment.mode)) return;
  const std::int64_t shards = MeshLayout(experiment.mesh).shards();
  if (experiment.mesh.devices() == 1 || trainer.trains_shards()) return;
  for (const std::string_view axis : MeshLayout::kInnerAxes) {
    const std::int64_t devices = experiment.mesh.extent(axis);
    if (shards > 1 || devices == 1) continue;
    refuse(config, "trainer",
           fmt::format("{} trains no mesh, and this one has {} devices along {}",
                       experiment.trainer.key(), devices, axis),
           "remove [mesh], or use trivet/Trainer");
  }
  refuse(
      config, "trainer",
      fmt::format("{} trains one shard, and the mesh makes {}", experiment.trainer.key(), shards),
      "remove [mesh], or use trivet/Trainer");
}

}  // namespace trivet
