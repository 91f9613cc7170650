// SPDX-License-Identifier: Apache-2.0
//
// The program's subcommands, one file each.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/command_info.h"
#include "cli/plugin_command.h"

namespace trivet {

extern const CommandInfo kCheckCommand;
extern const CommandInfo kCkptCommand;
extern const CommandInfo kCompleteCommand;
extern const CommandInfo kCompletionsCommand;
extern const CommandInfo kRunCommand;
extern const CommandInfo kLaunchCommand;
extern const CommandInfo kSuperviseCommand;
extern const CommandInfo kJobCommand;
extern const CommandInfo kStatusCommand;
extern const CommandInfo kShowCommand;
extern const CommandInfo kLogsCommand;
extern const CommandInfo kCancelCommand;
extern const CommandInfo kRetryCommand;
extern const CommandInfo kResumeCommand;
extern const CommandInfo kConfigCommand;
extern const CommandInfo kDataCommand;
extern const CommandInfo kDiffCommand;
extern const CommandInfo kDoctorCommand;
extern const CommandInfo kGenerateCommand;
extern const CommandInfo kExperimentsCommand;
extern const CommandInfo kExplainCommand;
extern const CommandInfo kHelpCommand;
extern const CommandInfo kIndexCommand;
extern const CommandInfo kLsCommand;
extern const CommandInfo kPlotCommand;
extern const CommandInfo kPluginsCommand;
extern const CommandInfo kSchemaCommand;
extern const CommandInfo kSummaryCommand;
extern const CommandInfo kTopCommand;

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
