// SPDX-License-Identifier: Apache-2.0
#include "cli/step_prediction.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "device/check_mesh.h"
#include "device/step_exchanges.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/error.h"

namespace trivet {
namespace {

// `data`, which cuts the batch, or `replica` where that has the devices of the config.
std::string_view axis_to_scale(const MeshConfig& mesh) {
  const auto has = [&](std::string_view axis) {
    return std::ranges::find(mesh.mesh_axis_names, axis) != mesh.mesh_axis_names.end();
  };
  const bool has_replicas = mesh.extent("data") == 1 && mesh.extent("replica") > 1;
  return has("data") && !has_replicas ? "data" : "replica";
}

// Axes whose extents are those of the config on meshes of all sizes.
constexpr std::array<std::string_view, 4> kKept = {
    MeshLayout::kBlockAxis, "data_expert", MeshLayout::kStageAxis, MeshLayout::kSequenceAxis};

std::int64_t kept_devices(const MeshConfig& mesh) {
  std::int64_t kept = 1;
  for (const std::string_view axis : kKept) kept *= mesh.extent(axis);
  return kept;
}

// The largest number of processes, of which at most so many share a shard.
std::int64_t most_processes(const MeshConfig& mesh, std::int64_t of_shard) {
  const MeshLayout layout(mesh);
  std::int64_t most = 1;
  for (const std::int64_t count : layout.process_counts()) {
    if (count <= layout.shards() * of_shard) most = std::max(most, count);
  }
  return most;
}

ConfigRequest with_mesh(ConfigRequest request, const ResolvedConfig& config,
                        const MeshConfig& mesh) {
  // Those of the user may be of the same fields.
  for (Override& given : request.overrides) given.is_lower = true;
  const auto set = [&](std::string_view path, const std::string& value) {
    request.overrides.push_back(make_override(fmt::format("{}={}", path, value)));
  };
  set("mesh.ici_mesh_shape", fmt::format("[{}]", fmt::join(mesh.ici_mesh_shape, ",")));
  set("mesh.dcn_mesh_shape", "[]");
  set("mesh.processes", fmt::format("{}", mesh.processes));
  if (mesh.percore_batch_size <= 0) return request;
  // Otherwise the numbers of the config's own mesh contradict the new one.
  const BatchShare share = batch_share(mesh);
  for (const auto& [path, value] :
       {std::pair{"task.train_input.batch_size", share.batch_size},
        std::pair{"task.train_input.num_infeed_hosts", share.num_infeed_hosts}}) {
    if (config.tree.find_path(path) != nullptr) set(path, fmt::format("{}", value));
  }
  return request;
}

std::string reason_of(const ConfigError& error) {
  const Diagnostic& first = error.diagnostics().front();
  return first.path.empty() ? first.what : first.path + ": " + first.what;
}

// Those of a shard in a process, and those that it could have had while it waited for other stages.
double flops_of_time(const Inspection& seen) {
  const double all = seen.process_flops.model_flops;
  if (!seen.pipeline) return all;
  const MeshConfig& mesh = seen.mesh;
  const std::int64_t own =
      MeshLayout(mesh).coordinates_of(0, mesh.processes, MeshLayout::kStageAxis).count;
  const double idle = seen.pipeline->shape.idle_share(mesh.extent(MeshLayout::kStageAxis) / own);
  return all + seen.pipeline->flops * idle / (1 - idle);
}

// Whatever `predict` gives, or why a run refuses the mesh.
template <class Predict>
StepPrediction row_of(std::int64_t devices, const MeshConfig& mesh, const Predict& predict) {
  StepPrediction row{.devices = devices, .mesh = mesh};
  try {
    return predict(row);
  } catch (const ConfigError& error) {
    row.refused = reason_of(error);
    return row;
  }
}

}  // namespace

StepPrediction predict_step(const Inspection& seen, const Networks& networks, double flop_rate) {
  StepPrediction row{.devices = seen.mesh.devices(), .mesh = seen.mesh};
  const std::int64_t shards = MeshLayout(seen.mesh).shards_of(0, seen.mesh.processes).count;
  row.compute_seconds = static_cast<double>(shards) * flops_of_time(seen) / flop_rate;
  row.exchange_seconds = seconds_of(seen.exchanges, networks);
  row.exposed_seconds =
      row.exchange_seconds - hidden_seconds(seen.exchanges, networks, seen.exchanged,
                                            seen.mesh.assumed_overlap(), row.compute_seconds);
  for (const Exchange& one : seen.exchanges) {
    row.sent_bytes += one.bytes;
    row.between_bytes += one.between_bytes;
  }
  for (const MemoryPart& part : seen.process_memory) row.memory_bytes += part.bytes;
  return row;
}

MeshConfig scaled_mesh(const MeshConfig& mesh, std::int64_t devices) {
  const std::int64_t kept = kept_devices(mesh);
  const std::string_view scaled = axis_to_scale(mesh);
  if (devices % kept != 0) {
    throw ConfigError(Diagnostic{
        .path = "mesh",
        .what = fmt::format("has {} devices along mdl, data_expert, stage and seq, which do not "
                            "divide {}",
                            kept, devices)});
  }
  MeshConfig out = mesh;
  out.dcn_mesh_shape.clear();
  out.ici_mesh_shape.clear();
  for (const std::string& axis : mesh.mesh_axis_names) {
    const bool is_kept = std::ranges::find(kKept, axis) != kKept.end();
    out.ici_mesh_shape.push_back(is_kept ? mesh.extent(axis) : axis == scaled ? devices / kept : 1);
  }
  if (out.devices() != devices) {
    throw ConfigError(Diagnostic{.path = "mesh.mesh_axis_names",
                                 .what = "has neither data nor replica, which cut the batch"});
  }
  out.processes = most_processes(out, processes_of_shard(mesh));
  return out;
}

std::vector<StepPrediction> predict_steps(const ConfigRequest& request, ConfigCatalog& catalog,
                                          const std::vector<Inspection>& own,
                                          std::span<const std::int64_t> devices,
                                          const Networks& networks, double flop_rate) {
  if (own.size() > 1 || !own.front().trained) {
    throw UsageError("--on-paper predicts the steps of a training of one stage");
  }
  const ResolvedConfig config = resolve_config(request, catalog);
  const MeshConfig& mesh = config.experiment.mesh;
  std::vector<StepPrediction> rows = {row_of(mesh.devices(), mesh, [&](const StepPrediction&) {
    check_mesh(config);
    return predict_step(own.front(), networks, flop_rate);
  })};
  const std::int64_t kept = kept_devices(mesh);
  std::set<std::int64_t> counts;
  for (const std::int64_t count : devices) counts.insert((count + kept - 1) / kept * kept);
  for (const std::int64_t count : counts) {
    rows.push_back(row_of(count, {}, [&](StepPrediction& row) {
      row.mesh = scaled_mesh(mesh, count);
      const ResolvedConfig scaled = resolve_config(with_mesh(request, config, row.mesh), catalog);
      check_mesh(scaled);
      return predict_step(inspect(scaled, {.abstract = true}).front(), networks, flop_rate);
    }));
  }
  return rows;
}

}  // namespace trivet
