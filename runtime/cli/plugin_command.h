// SPDX-License-Identifier: Apache-2.0
// Subcommands of plugins (trivet/command.h). Users type "plugin/name" as `trivet name`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/plugin_host.h"

namespace trivet {

struct PluginCommand {
  // As users type it. This is the key if two plugins, or a plugin and the program, use the same
  // name.
  std::string name;
  std::string key;
  std::string doc;  // one line
};

// Words of a command line, with the values of --plugin-dir separated.
struct CommandWords {
  std::vector<std::string> plugin_dirs{};
  std::vector<std::string> others{};
};

// Removes --plugin-dir DIR and --plugin-dir=DIR before any "--". Throws UsageError if the value is
// missing.
CommandWords without_plugin_dirs(std::span<const std::string> words);

// The commands of usable plugins, from their notes, by name.
std::vector<PluginCommand> plugin_commands(const PluginHost& host);

// Runs the command named by the first of `words` with the other words. Returns the exit code.
// Throws UsageError if no plugin has the command.
int run_plugin_command(std::span<const std::string> words);

}  // namespace trivet
