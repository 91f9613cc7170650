// SPDX-License-Identifier: Apache-2.0
// The record of a run's plugins, and the differences between two records.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trivet/config/value.h"

namespace trivet {

// A table {name, version, file, digest} for each loaded plugin. A plugin that replaces a shipped
// one also has `replaces`.
Value loaded_plugins_value();

// The record that the last process of a run wrote to log.jsonl at its start. Null if there is none.
Value recorded_plugins(const std::filesystem::path& run);

struct PluginChange {
  std::string name, before, after;  // version and digest; empty if the plugin is missing
};

// Plugins whose version or bytes differ, then those that only one of the records has. No changes if
// one of them is not a record, such as null.
std::vector<PluginChange> plugin_changes(const Value& before, const Value& after);

}  // namespace trivet
