// SPDX-License-Identifier: Apache-2.0
#include "rundir/run_plugins.h"

#include <fcntl.h>

#include <map>
#include <system_error>

#include <fmt/core.h>

#include "base/reverse_line_reader.h"
#include "host/loaded_plugins.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

// The plugins by name.
std::map<std::string, std::string> builds_in(const Value& record) {
  std::map<std::string, std::string> builds;
  if (!record.is_array()) return builds;
  for (const Value& plugin : record.items()) {
    builds[plugin.string_or("name")] =
        fmt::format("{} {}", plugin.string_or("version"), plugin.string_or("digest"));
  }
  return builds;
}

// Null for other lines and events.
Value plugins_at_start(const std::string& line) {
  try {
    const Value event = value_from_json(line, "log.jsonl");
    const Value* plugins = event.is_table() ? event.find("plugins") : nullptr;
    const bool start = event.string_or("event") == "start";
    return start && plugins != nullptr ? *plugins : Value();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

Value loaded_plugins_value() {
  Value record = Value::array();
  for (const LoadedPlugin& plugin : loaded_plugins()) {
    Value& row = record.push_back(Value::table({{"name", plugin.name},
                                                {"version", plugin.version},
                                                {"file", plugin.file.string()},
                                                {"digest", plugin.digest}}));
    if (!plugin.replaces.empty()) row.set("replaces", plugin.replaces.string());
  }
  return record;
}

Value recorded_plugins(const std::filesystem::path& run) {
  const std::filesystem::path path = run / "log.jsonl";
  std::error_code failure;
  const std::uintmax_t size = std::filesystem::file_size(path, failure);
  if (failure) return {};
  const UniqueFd file = open_file(path, O_RDONLY);
  ReverseLineReader lines(file, path, size);
  std::string line;
  for (std::uint64_t start = 0; lines.next(line, start);) {
    Value plugins = plugins_at_start(line);
    if (!plugins.is_null()) return plugins;
  }
  return {};
}

std::vector<PluginChange> plugin_changes(const Value& before, const Value& after) {
  std::vector<PluginChange> changes;
  if (!before.is_array() || !after.is_array()) return changes;
  const auto first = builds_in(before), second = builds_in(after);
  for (const auto& [name, build] : first) {
    const auto other = second.find(name);
    if (other != second.end() && other->second != build) {
      changes.push_back({name, build, other->second});
    }
  }
  for (const auto& [name, build] : first) {
    if (!second.contains(name)) changes.push_back({name, build, {}});
  }
  for (const auto& [name, build] : second) {
    if (!first.contains(name)) changes.push_back({name, {}, build});
  }
  return changes;
}

}  // namespace trivet
