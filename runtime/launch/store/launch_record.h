// SPDX-License-Identifier: Apache-2.0
// The record of a launch in the experiment's directory, and launches that start from it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/resolver.h"
#include "config/tree/config_catalog.h"
#include "trivet/config/value.h"

namespace trivet {

// The [xp] and [sweep] of an experiment as a config file, based on the run's config of this name,
// if any.
std::string launch_text(const ResolvedLaunch& launch, const std::string& config_name);

// Writes this text to STEM.toml in the directory, or to another name if that file has other text.
std::filesystem::path file_for(const std::filesystem::path& directory, const std::string& stem,
                               const std::string& text);

// A list in experiment.json. Empty if it is missing.
std::vector<std::string> texts_in(const Value& facts, std::string_view key);

// Makes a request that starts from an experiment's launch.toml resolve the same layers: the files,
// then the overrides of its units. A new override replaces an old one of the same path.
void start_from_record(ConfigRequest& request);

// Resolves launch.toml of an experiment. It was valid at the launch, so ConfigError adds that a
// plugin may be missing.
ResolvedLaunch resolve_record(const std::filesystem::path& file, ConfigCatalog& catalog);

}  // namespace trivet
