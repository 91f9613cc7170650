// SPDX-License-Identifier: Apache-2.0
//
// What people do to work units that have been launched.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "launch/control/launched_experiment.h"

namespace trivet {

// Numbers of work units; nothing: the whole experiment.
using UnitChoice = std::optional<std::set<std::int64_t>>;

// Each throws UsageError for a number that is not there, before it does anything.

// Marks the units that have not ended as cancelled and has their jobs ended; how many there were.
// As a whole the experiment makes no more units, either.
std::size_t cancel_units(LaunchedExperiment& experiment, const UnitChoice& chosen);

// Starts the jobs afresh that ended without success; how many units they belong to. Those that have
// completed keep what they did.
std::size_t retry_units(LaunchedExperiment& experiment, const UnitChoice& chosen);

// Goes on with the units that have not ended, for instance after the machine went down, and with
// jobs that were lost; how many units that are.
std::size_t resume_units(LaunchedExperiment& experiment, const UnitChoice& chosen);

}  // namespace trivet
