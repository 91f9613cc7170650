// SPDX-License-Identifier: Apache-2.0
// Commands that act on experiments: NAME ID ...
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "config/config_arguments.h"
#include "launch/control/launched_experiment.h"
#include "launch/control/unit_control.h"
#include "trivet/config/arguments.h"

namespace trivet {

inline constexpr std::array kExperimentOptions{kRootOption, kPluginDirOption};

// Absolute, because a supervisor may later start in another directory.
std::vector<std::string> absolute_folders(std::vector<std::string> folders);
// The plugin folders of a launched experiment: those given now, then those given at launch that
// still exist.
std::vector<std::string> with_recorded_plugin_dirs(std::vector<std::string> given,
                                                   const std::filesystem::path& experiment);

// Calls `act` once for each experiment that the IDs name, in their order, with the named units.
// Prints the returned text. Returns the exit code.
int run_on_experiments(
    std::span<const std::string> words, const std::string& command,
    const std::function<std::string(LaunchedExperiment&, const UnitChoice&)>& act);

}  // namespace trivet
