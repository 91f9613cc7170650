// SPDX-License-Identifier: Apache-2.0
// trivet help [COMMAND]
#include "base/terminal.h"
#include "cli/commands.h"
#include "host/plugin_host.h"
#include "trivet/error.h"

namespace trivet {
namespace {

int run_help(std::span<const std::string> words) {
  const std::vector<std::string> names = parse_arguments(words, {}).plain();
  if (names.size() > 1) throw UsageError("help takes one command");
  if (names.empty()) {
    print_out(overview_text(plugin_commands(PluginHost(plugin_search_path({})))));
    return 0;
  }
  const CommandInfo* command = find_command(names[0]);
  if (command == nullptr) return run_plugin_command(std::vector{names[0], std::string("--help")});
  print_out(manual_text(*command));
  return 0;
}

}  // namespace

extern const CommandInfo kHelpCommand{
    .name = "help",
    .usage = "help [COMMAND]",
    .summary = "Describes a command and its options",
    .details = {},
    .options = {},
    .operand = Operand::command,
    .run = run_help,
};

}  // namespace trivet
