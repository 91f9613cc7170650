// SPDX-License-Identifier: Apache-2.0
//
// Commands that do something to experiments: NAME ID ...
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/config_arguments.h"
#include "launch/launcher.h"
#include "trivet/arguments.h"

namespace trivet {

inline constexpr OptionSpec kRootOption{
    .name = "root",
    .value = "DIR",
    .doc = "The directory of the experiments; default: TRIVET_ROOT, else runs"};

inline constexpr std::array kExperimentOptions{kRootOption, kPluginDirOption};

// Calls `act` for each ID, with its unit or nothing for all of them, and prints what it gives back;
// returns the exit code.
int run_on_experiments(
    std::span<const std::string> words, const std::string& command,
    const std::function<std::string(LaunchedExperiment&, const std::optional<std::int64_t>&)>& act);

}  // namespace trivet
