// SPDX-License-Identifier: Apache-2.0
// The program's subcommands, one file each in commands/; commands.cpp lists them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/command_info.h"
#include "cli/plugin_command.h"

namespace trivet {

// All of them, in the order of the help page.
std::span<const CommandInfo* const> commands();

// Null if there is none of this name.
const CommandInfo* find_command(std::string_view name);

// The page of `trivet --help`, with the commands of plugins, and the manual page of one subcommand.
std::string overview_text(std::span<const PluginCommand> plugin_commands);
std::string manual_text(const CommandInfo& command);

// "did you mean 'run'?" for an unknown subcommand.
std::string command_suggestion(std::string_view name,
                               std::span<const PluginCommand> plugin_commands);

}  // namespace trivet
