// SPDX-License-Identifier: Apache-2.0
//
// What people do to work units that have been launched.
#pragma once

#include <cstdint>
#include <optional>

#include "launch/control/launched_experiment.h"

namespace trivet {

// Each works on one unit, or on the whole experiment when `wid` is nothing. Throws UsageError for a
// number that is not there.

// Marks the units that have not ended as cancelled and has their jobs ended; how many there were.
// As a whole the experiment makes no more units, either.
std::size_t cancel_units(LaunchedExperiment& experiment, const std::optional<std::int64_t>& wid);

// Starts the jobs afresh that ended without success; how many units they belong to. Those that have
// completed keep what they did.
std::size_t retry_units(LaunchedExperiment& experiment, const std::optional<std::int64_t>& wid);

// Goes on with the units that have not ended, for instance after the machine went down, and with
// jobs that were lost; how many units that are.
std::size_t resume_units(LaunchedExperiment& experiment, const std::optional<std::int64_t>& wid);

}  // namespace trivet
