// SPDX-License-Identifier: Apache-2.0
// BlockPlan: where the variables of a flat block lie, and which device of a mesh owns what of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "layer/block_units.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/tensor/mesh_shards.h"

namespace trivet::detail {

struct BlockPlan {
  struct Variable {
    std::string_view path;
    std::int64_t elements = 0;
    std::int64_t stage = Parameter::kEveryStage;  // whose devices alone may own it
    bool is_apart = false;                        // Parameter::rows_apart
  };
  // One unit, or as many as BlockUnits makes of the variables.
  enum class Units { one, several };

  std::vector<std::int64_t> offsets;  // of each variable
  std::shared_ptr<const UnitParts> parts;
};

// Where devices own whole variables, those of one device are neighbors in each unit, and in the
// order of `variables`. Which variables are in a unit depends on that order alone.
BlockPlan plan_block(std::span<const BlockPlan::Variable> variables, const MeshShards& shards,
                     BlockPlan::Units units, ParameterStore::Pieces pieces);

// The trainable ones, in the order of the store.
std::vector<BlockPlan::Variable> variables_of(const ParameterStore& store);

// The device that owns each variable: the largest variable goes first, and to the device that has
// least (Graham 1969, Bounds on multiprocessing timing anomalies). Of equal variables the first one
// by path goes first, of equal devices the first one gets it. Those of stages go first.
std::vector<std::int64_t> deal_variables(std::span<const BlockPlan::Variable> variables,
                                         const MeshShards& shards);

}  // namespace trivet::detail
