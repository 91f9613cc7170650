// SPDX-License-Identifier: Apache-2.0
#include "trivet/layer/weight_share.h"

#include <algorithm>
#include <vector>

#include "layer/block_plan.h"
#include "layer/weight_parts.h"
#include "trivet/backend/mesh.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/layer/row_share.h"

namespace trivet {
namespace {

using detail::BlockPlan;
using detail::WeightParts;

struct AtOnce {
  std::int64_t whole = 0, ahead = 0;
};

template <class IsRead>
AtOnce at_once_of(const detail::BlockUnits& units, const MeshConfig& mesh, const IsRead& is_read) {
  const std::int64_t whole = WeightParts::most_elements(units, is_read);
  return {whole, WeightParts::most_elements(units, is_read, mesh.assumed_overlap()) - whole};
}

// Of the process that has most. Units that a process has alone are not gathered, nor are those
// whose rows are computed with apart.
AtOnce most_at_once(const detail::BlockUnits& units, const std::vector<std::size_t>& apart,
                    const MeshConfig& mesh) {
  const MeshLayout layout(mesh);
  const std::int64_t stages = mesh.extent(MeshLayout::kStageAxis);
  const std::int64_t own = layout.coordinates_of(0, mesh.processes, MeshLayout::kStageAxis).count;
  const AtOnce of_all = at_once_of(units, mesh, [&](std::size_t i) {
    return !units.is_of_stage(i) && std::ranges::find(apart, i) == apart.end();
  });
  if (mesh.processes == stages / own) return of_all;
  AtOnce most;
  for (std::int64_t first = 0; first < stages; first += own) {
    const AtOnce of_stages = at_once_of(units, mesh, [&](std::size_t i) {
      return units.stage(i) >= first && units.stage(i) < first + own;
    });
    if (of_stages.whole + of_stages.ahead > most.whole + most.ahead) most = of_stages;
  }
  return {of_all.whole + most.whole, of_all.ahead + most.ahead};
}

std::vector<std::size_t> units_apart(const ParameterStore& store, const detail::BlockUnits& units) {
  std::vector<std::size_t> apart;
  for (const auto& parameter : store.parameters()) {
    if (RowShare::of({parameter.get()}) == nullptr) continue;
    apart.push_back(units.unit_at(store.offset_of(*parameter)));
  }
  return apart;
}

// What processes have of each unit, from the parts of all devices.
std::vector<std::vector<std::int64_t>> parts_of_ranks(const detail::UnitParts& parts,
                                                      const MeshShards& shards,
                                                      const MeshConfig& mesh) {
  const std::int64_t devices = shards.pieces() / mesh.processes;
  std::vector<std::vector<std::int64_t>> all;
  for (std::size_t unit = 0; unit < parts.units().count(); ++unit) {
    auto& of_unit = all.emplace_back(static_cast<std::size_t>(mesh.processes));
    for (std::int64_t device = 0; device < shards.pieces(); ++device) {
      of_unit[static_cast<std::size_t>(device / devices)] += parts.of_device(unit, device).size();
    }
  }
  return all;
}

WeightShare share_of(const ParameterStore& store, const MeshConfig& mesh, BlockPlan::Units cut) {
  using Pieces = ParameterStore::Pieces;
  const MeshShards whole(mesh, nullptr);
  const std::vector<BlockPlan::Variable> variables = detail::variables_of(store);
  const BlockPlan plan = detail::plan_block(
      variables, whole, cut, store.has_whole_variables() ? Pieces::variables : Pieces::elements);
  const detail::UnitParts& parts = *plan.parts;
  const detail::BlockUnits& units = parts.units();
  const AtOnce at_once = most_at_once(units, units_apart(store, units), mesh);
  WeightShare share{.all = units.size(),
                    .whole = at_once.whole,
                    .ahead = at_once.ahead,
                    .units = static_cast<std::int64_t>(units.count())};
  std::vector<std::vector<std::int64_t>> of_ranks = parts_of_ranks(parts, whole, mesh);
  std::vector<std::int64_t> own(static_cast<std::size_t>(mesh.processes));
  for (std::size_t i = 0; i < units.count(); ++i) {
    share.largest = std::max(share.largest, units[i].size());
    for (std::size_t rank = 0; rank < own.size(); ++rank) own[rank] += of_ranks[i][rank];
  }
  share.own = std::ranges::max(own);
  share.keeps_all = store.keeps_all();
  if (share.keeps_all) {
    share.whole = share.all;
    share.ahead = 0;
  }
  if (!parts.has_whole_variables()) return share;
  share.parts = std::move(of_ranks);
  const std::int64_t devices = whole.pieces() / mesh.processes;
  const std::vector<std::int64_t> owners = detail::deal_variables(variables, whole);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    share.owners[std::string(variables[i].path)] = owners[i] / devices;
  }
  return share;
}

}  // namespace

WeightShare weight_share(const ParameterStore& store, const MeshConfig& mesh) {
  return share_of(store, mesh, BlockPlan::Units::several);
}

WeightShare update_share(const ParameterStore& store, const MeshConfig& mesh) {
  return share_of(store, mesh, BlockPlan::Units::one);
}

}  // namespace trivet
