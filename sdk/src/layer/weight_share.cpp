// SPDX-License-Identifier: Apache-2.0
#include "trivet/layer/weight_share.h"

#include <algorithm>
#include <vector>

#include "layer/block_layout.h"
#include "layer/block_units.h"
#include "layer/weight_parts.h"
#include "trivet/backend/mesh.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/layer/parameter_store.h"

namespace trivet {
namespace {

using detail::WeightParts;

// Of the process that has most. Units that a process has alone are not gathered.
std::int64_t most_at_once(const detail::BlockUnits& units, const MeshConfig& mesh) {
  const MeshLayout layout(mesh);
  const std::int64_t stages = mesh.extent(MeshLayout::kStageAxis);
  const std::int64_t own = layout.coordinates_of(0, mesh.processes, MeshLayout::kStageAxis).count;
  const std::int64_t of_all =
      WeightParts::most_elements(units, [&](std::size_t i) { return !units.is_of_stage(i); });
  if (mesh.processes == stages / own) return of_all;
  std::int64_t most = 0;
  for (std::int64_t first = 0; first < stages; first += own) {
    most = std::max(most, WeightParts::most_elements(units, [&](std::size_t i) {
                      return units.stage(i) >= first && units.stage(i) < first + own;
                    }));
  }
  return of_all + most;
}

}  // namespace

WeightShare weight_share(const ParameterStore& store, const MeshConfig& mesh) {
  std::vector<detail::BlockUnits::Variable> variables;
  for (const auto& parameter : store.parameters()) {
    if (!parameter->trainable()) continue;
    variables.push_back({store.offset_of(*parameter) + detail::padded(parameter->shape().size()),
                         parameter->stage()});
  }
  const detail::BlockUnits units(variables);
  const MeshShards whole(mesh, nullptr);
  const detail::UnitParts parts(units, whole);
  const std::int64_t devices = whole.pieces() / mesh.processes;
  WeightShare share{.all = units.size(),
                    .whole = most_at_once(units, mesh),
                    .units = static_cast<std::int64_t>(units.count())};
  std::vector<std::int64_t> own(static_cast<std::size_t>(mesh.processes));
  for (std::size_t i = 0; i < units.count(); ++i) {
    for (std::int64_t device = 0; device < whole.pieces(); ++device) {
      own[static_cast<std::size_t>(device / devices)] += parts.of_device(i, device).size();
    }
    share.largest = std::max(share.largest, units[i].size());
  }
  share.own = std::ranges::max(own);
  return share;
}

}  // namespace trivet
