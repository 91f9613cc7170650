// SPDX-License-Identifier: Apache-2.0
// The work units that an experiment lacks: units of its sweep without a recorded unit of the same
// identity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "launch/plan/sweep_items.h"
#include "launch/plan/unit_builder.h"
#include "trivet/launch/job.h"

namespace trivet {

struct MissingUnits {
  std::vector<launch::WorkUnit> units;
  std::vector<std::size_t> items;  // the sweep item of each unit, from 1
  std::size_t duplicates = 0;      // items equal to another item
};

// Numbers continue after `last_wid`. Each item is repeated `repeats` times.
MissingUnits missing_units(const UnitBuilder& builder, const SweepItems& sweep,
                           std::int64_t repeats, const std::vector<launch::WorkUnit>& recorded,
                           std::int64_t last_wid);

}  // namespace trivet
