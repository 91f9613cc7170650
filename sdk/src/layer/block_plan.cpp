// SPDX-License-Identifier: Apache-2.0
#include "layer/block_plan.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "layer/block_units.h"

namespace trivet::detail {
namespace {

std::vector<std::size_t> indexes(std::size_t count) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

BlockUnits units_of(std::span<const BlockUnits::Variable> variables, BlockPlan::Units units) {
  if (units == BlockPlan::Units::several) return BlockUnits(variables);
  return BlockUnits(variables.empty() ? 0 : variables.back().end);
}

}  // namespace

std::vector<BlockPlan::Variable> variables_of(const ParameterStore& store) {
  std::vector<BlockPlan::Variable> variables;
  for (const auto& parameter : store.parameters()) {
    if (!parameter->trainable()) continue;
    variables.push_back({.path = parameter->path(),
                         .elements = parameter->shape().size(),
                         .stage = parameter->stage(),
                         .is_apart = parameter->rows_apart()});
  }
  return variables;
}

std::vector<std::int64_t> deal_variables(std::span<const BlockPlan::Variable> variables,
                                         const MeshShards& shards) {
  std::vector<std::size_t> order = indexes(variables.size());
  std::ranges::sort(order, {}, [&](std::size_t i) {
    const BlockPlan::Variable& variable = variables[i];
    // No stage is less than any.
    return std::make_tuple(-variable.stage, -padded(variable.elements), variable.path);
  });
  std::vector<std::int64_t> owners(variables.size()),
      loads(static_cast<std::size_t>(shards.pieces()));
  using Device = std::pair<std::int64_t, std::int64_t>;  // what it has, and its number
  std::priority_queue<Device, std::vector<Device>, std::greater<>> least;
  std::optional<std::int64_t> stage;
  for (const std::size_t i : order) {
    if (stage != variables[i].stage) {
      stage = variables[i].stage;
      least = {};
      for (std::int64_t device = 0; device < shards.pieces(); ++device) {
        if (stage != Parameter::kEveryStage && stage != shards.stage_of(device)) continue;
        least.emplace(loads[static_cast<std::size_t>(device)], device);
      }
    }
    const auto [elements, device] = least.top();
    least.pop();
    owners[i] = device;
    const std::int64_t load = elements + padded(variables[i].elements);
    loads[static_cast<std::size_t>(device)] = load;
    least.emplace(load, device);
  }
  return owners;
}

BlockPlan plan_block(std::span<const BlockPlan::Variable> variables, const MeshShards& shards,
                     BlockPlan::Units units, ParameterStore::Pieces pieces) {
  BlockPlan plan;
  std::vector<BlockUnits::Variable> ends;
  const bool by_element = pieces == ParameterStore::Pieces::elements;
  std::int64_t size = 0;
  for (const BlockPlan::Variable& variable : variables) {
    plan.offsets.push_back(size);
    size += padded(variable.elements);
    ends.push_back({size, variable.stage, by_element && variable.is_apart});
  }
  BlockUnits cut = units_of(ends, units);
  if (by_element) {
    plan.parts = std::make_shared<UnitParts>(std::move(cut), shards);
    return plan;
  }
  const std::vector<std::int64_t> owners = deal_variables(variables, shards);
  // An empty variable at the end of the block is in the last unit.
  std::vector<std::size_t> unit_of;
  for (const std::int64_t offset : plan.offsets) unit_of.push_back(cut.unit_at(offset));
  std::vector<std::size_t> order = indexes(variables.size());
  std::ranges::sort(order, {},
                    [&](std::size_t i) { return std::make_tuple(unit_of[i], owners[i], i); });
  UnitParts::Owners of_units(cut.count());
  std::int64_t end = 0;
  for (const std::size_t i : order) {
    plan.offsets[i] = end;
    end += padded(variables[i].elements);
    std::vector<UnitParts::Owner>& of_unit = of_units[unit_of[i]];
    if (of_unit.empty() || of_unit.back().device != owners[i]) {
      of_unit.push_back({.device = owners[i]});
    }
    of_unit.back().end = end;
  }
  plan.parts = std::make_shared<UnitParts>(std::move(cut), shards, std::move(of_units));
  return plan;
}

}  // namespace trivet::detail
