// SPDX-License-Identifier: Apache-2.0
//
// trivet help [COMMAND]
#include "cli/commands.h"
#include "cli/terminal.h"
#include "trivet/error.h"

namespace trivet {
namespace {

int run_help(std::span<const std::string> words) {
  const std::vector<std::string> names = parse_arguments(words, {}).plain();
  if (names.size() > 1) throw UsageError("help takes one command");
  if (names.empty()) {
    print_out(overview_text());
    return 0;
  }
  const CommandInfo* command = find_command(names[0]);
  if (command == nullptr) {
    throw UsageError("there is no command '" + names[0] + "'",
                     {.hint = command_suggestion(names[0])});
  }
  print_out(manual_text(*command));
  return 0;
}

}  // namespace

const CommandInfo kHelpCommand{
    .name = "help",
    .usage = "help [COMMAND]",
    .summary = "Tells what a command does and takes",
    .details = {},
    .options = {},
    .operand = Operand::command,
    .run = run_help,
};

}  // namespace trivet
