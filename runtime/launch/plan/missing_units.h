// SPDX-License-Identifier: Apache-2.0
//
// Which work units an experiment lacks: those of its sweep that are not recorded, told by what they
// do.
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
  std::vector<std::size_t> items;  // of each, its item in the sweep, from 1
  std::size_t duplicates = 0;      // items that say the same as another
};

// Numbered behind those that are recorded; each item `repeats` times.
MissingUnits missing_units(const UnitBuilder& builder, const SweepItems& sweep,
                           std::int64_t repeats, const std::vector<launch::WorkUnit>& recorded);

}  // namespace trivet
