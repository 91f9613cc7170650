// SPDX-License-Identifier: Apache-2.0
//
// Subcommands that plugins bring (trivet/command.h): "plugin/name" is typed as `trivet name`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/plugin_host.h"

namespace trivet {

struct PluginCommand {
  // As it is typed: the key where two plugins, or a plugin and the program, have the same name.
  std::string name;
  std::string key;
  std::string doc;  // one line
};

// Words of a command line, the values of --plugin-dir among them apart.
struct CommandWords {
  std::vector<std::string> plugin_dirs{};
  std::vector<std::string> others{};
};

// Takes --plugin-dir DIR and --plugin-dir=DIR out, which stand before any "--". Throws UsageError
// for one without a value.
CommandWords without_plugin_dirs(std::span<const std::string> words);

// Those of usable plugins, from their notes, by name.
std::vector<PluginCommand> plugin_commands(const PluginHost& host);

// Runs the command that `words` begin with, with the words behind it; returns the exit code. Throws
// UsageError when no plugin has it.
int run_plugin_command(std::span<const std::string> words);

}  // namespace trivet
