// SPDX-License-Identifier: Apache-2.0
//
// What the directory of an experiment says of its launch, and a launch that starts from there.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/resolver.h"
#include "config/tree/config_catalog.h"
#include "trivet/config/value.h"

namespace trivet {

// The [xp] and [sweep] of an experiment as a config file above the run's config of this name, or
// above none.
std::string launch_text(const ResolvedLaunch& launch, const std::string& config_name);

// A file of this text in the directory: STEM.toml, of a name of its own where that has another
// text.
std::filesystem::path file_for(const std::filesystem::path& directory, const std::string& stem,
                               const std::string& text);

// A list in experiment.json; empty where there is none.
std::vector<std::string> texts_in(const Value& facts, std::string_view key);

// Has a request that starts from the launch.toml of an experiment resolve what that one has
// resolved: the files, and above them the overrides that its units say. What is said now wins over
// an override of the same path.
void start_from_record(ConfigRequest& request);

// launch.toml of an experiment. It was right when it was launched, so ConfigError says that a
// plugin may be missing now.
ResolvedLaunch resolve_record(const std::filesystem::path& file, ConfigCatalog& catalog);

}  // namespace trivet
