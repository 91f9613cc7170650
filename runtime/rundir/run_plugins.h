// SPDX-License-Identifier: Apache-2.0
// What a run records of the plugins it uses, and how two such records differ.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trivet/config/value.h"

namespace trivet {

// A table {name, version, file, digest} for each plugin that is loaded now; one that takes the
// location of a shipped plugin has `replaces`, too.
Value loaded_plugins_value();

// As the last process of a run wrote it to log.jsonl when it started; null when there is none.
Value recorded_plugins(const std::filesystem::path& run);

struct PluginChange {
  std::string name, before, after;  // version and digest; empty where there is no such plugin
};

// Plugins whose version or bytes differ, then those that only one of the records has. Null or
// anything else that is no record has nothing to compare: no changes.
std::vector<PluginChange> plugin_changes(const Value& before, const Value& after);

}  // namespace trivet
