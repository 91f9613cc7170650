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
  std::string name;  // as it is typed: the key where two plugins have the same name
  std::string key;
  std::string doc;  // one line
};

// Those of usable plugins, from their notes, by name; without those that have the name of a command
// of the program.
std::vector<PluginCommand> plugin_commands(const PluginHost& host);

// Runs the command that `words` begin with, with the words behind it; returns the exit code. Throws
// UsageError when no plugin has it.
int run_plugin_command(std::span<const std::string> words);

}  // namespace trivet
