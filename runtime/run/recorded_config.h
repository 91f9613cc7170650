// SPDX-License-Identifier: Apache-2.0
// The config that a run goes on with against the one that it was started with. That one stands in
// config.toml and, guarded by the sums of a manifest, in every checkpoint: so a config.toml that is
// damaged or lost stops no run, and is not taken for that of another model.
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
