// SPDX-License-Identifier: Apache-2.0
// Compares the config of a continued run with that of its start, which is in config.toml and, with
// a checksum, in every checkpoint. So a damaged or lost config.toml does not stop a run and is not
// mistaken for another model.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint_manager.h"
#include "rundir/config_changes.h"
#include "trivet/config/value.h"

namespace trivet {

// The state of a checkpoint that contains its run's config, as text under "config".
inline constexpr std::string_view kRunState = "run";

// The changes since the run with these checkpoints started. Empty without checkpoints. Warns if
// `file` (config.toml) cannot be the config of the checkpoints. Throws RunError if the file cannot
// be read, or if it is damaged and the checkpoints contain no config.
std::vector<ConfigChange> changes_since_start(const std::filesystem::path& file,
                                              CheckpointManager& checkpoints, const Value& now,
                                              const std::function<void(const std::string&)>& warn);

}  // namespace trivet
