// SPDX-License-Identifier: Apache-2.0
// User actions on launched work units.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "launch/control/launched_experiment.h"

namespace trivet {

// Numbers of work units. Without a value: the whole experiment.
using UnitChoice = std::optional<std::set<std::int64_t>>;

// Each throws UsageError for an unknown unit before it changes anything.

// Marks the units that have not ended as cancelled and ends their jobs. Returns the number of
// units. A cancelled experiment also adds no more units.
std::size_t cancel_units(LaunchedExperiment& experiment, const UnitChoice& chosen);

// Restarts the jobs that ended without success. Returns the number of their units. Completed jobs
// do not change.
std::size_t retry_units(LaunchedExperiment& experiment, const UnitChoice& chosen);

// Continues the units that have not ended, for instance after a machine failure, and restarts lost
// jobs. Returns the number of units.
std::size_t resume_units(LaunchedExperiment& experiment, const UnitChoice& chosen);

}  // namespace trivet
