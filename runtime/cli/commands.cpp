// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/terminal_text.h"
#include "trivet/config/schema.h"

// X(NAME) for each of them, in the order of the help page: a file in commands/ defines
// kNAMECommand.
/* clang-format off */
#define TRIVET_FOR_EACH_COMMAND(X)                                              \
  X(Run) X(Launch) X(Check) X(Summary) X(Data) X(Config) X(Experiments)         \
  X(Plugins) X(Explain) X(Ls) X(Plot) X(Diff) X(Generate) X(Predict) X(Ckpt)    \
  X(Schema) X(Status) X(Show) X(Logs) X(Cancel) X(Retry) X(Resume) X(Top)       \
  X(Index) X(Doctor) X(Bench) X(Completions) X(Help) X(Complete) X(Supervise) X(Job)
/* clang-format on */

namespace trivet {

#define TRIVET_DECLARE_COMMAND(NAME) extern const CommandInfo k##NAME##Command;
TRIVET_FOR_EACH_COMMAND(TRIVET_DECLARE_COMMAND)
#undef TRIVET_DECLARE_COMMAND

namespace {

#define TRIVET_COMMAND_ENTRY(NAME) &k##NAME##Command,
constexpr const CommandInfo* kCommands[] = {TRIVET_FOR_EACH_COMMAND(TRIVET_COMMAND_ENTRY)};
#undef TRIVET_COMMAND_ENTRY

}  // namespace

std::span<const CommandInfo* const> commands() {
  return kCommands;
}

const CommandInfo* find_command(std::string_view name) {
  for (const CommandInfo* command : commands()) {
    if (command->name == name) return command;
  }
  return nullptr;
}

std::string overview_text(std::span<const PluginCommand> plugin_commands) {
  std::string text =
      "trivet trains models and runs experiments from TOML files.\n\n"
      "usage: trivet COMMAND ...\n\n";
  std::vector<std::pair<std::string, std::string>> lines;
  for (const CommandInfo* command : commands()) {
    if (!command->summary.empty()) lines.emplace_back(command->usage, command->summary);
  }
  for (const PluginCommand& command : plugin_commands) {
    lines.emplace_back(command.name + " ...", one_line(command.doc));
  }
  std::size_t width = 0;
  for (const auto& [usage, summary] : lines) width = std::max(width, usage.size());
  for (const auto& [usage, summary] : lines) {
    text += fmt::format("  {:<{}}  {}\n", usage, width, summary);
  }
  return text +
         "\n  --help      this page; 'trivet help COMMAND' prints more\n"
         "  --version   version of the program and of its plugin contract\n";
}

std::string manual_text(const CommandInfo& command) {
  std::string text = fmt::format("usage: trivet {}\n\n{}.\n", command.usage, command.summary);
  if (!command.details.empty()) text += fmt::format("\n{}\n", command.details);
  if (command.more_details != nullptr) text += "\n" + command.more_details();
  if (!command.options.empty()) text += "\n" + options_text(command.options);
  return text;
}

std::string command_suggestion(std::string_view name,
                               std::span<const PluginCommand> plugin_commands) {
  std::vector<std::string> names;
  for (const CommandInfo* command : commands()) {
    if (!command->summary.empty()) names.emplace_back(command->name);
  }
  for (const PluginCommand& command : plugin_commands) names.push_back(command.name);
  return suggestion(name, names);
}

}  // namespace trivet
