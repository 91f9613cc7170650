// SPDX-License-Identifier: Apache-2.0
//
// What people do to work units that have been launched.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "launch/launcher.h"

namespace trivet {

// The units with these numbers, or all. Throws UsageError for a number that is not there.
std::vector<std::int64_t> chosen_units(LaunchedExperiment& experiment,
                                       const std::optional<std::int64_t>& wid);

// Marks those that have not ended as cancelled and has their jobs ended; how many there were.
std::size_t cancel_units(LaunchedExperiment& experiment, const std::vector<std::int64_t>& wids);

// Starts the jobs afresh that ended without success; how many units they belong to. Those that have
// completed keep what they did.
std::size_t retry_units(LaunchedExperiment& experiment, const std::vector<std::int64_t>& wids);

// Goes on with the units that have not ended, for instance after the machine went down, and with
// jobs that were lost; how many units that are.
std::size_t resume_units(LaunchedExperiment& experiment, const std::vector<std::int64_t>& wids);

}  // namespace trivet
