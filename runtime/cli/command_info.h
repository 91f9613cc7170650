// SPDX-License-Identifier: Apache-2.0
// A subcommand of the program, as described to main, `--help`, the manual page and completion. Each
// subcommand has its own file that returns its description; commands.cpp lists them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "trivet/config/arguments.h"

namespace trivet {

// The kind of a plain argument, for completion.
enum class Operand {
  none,
  path,         // the directory of a run, or a checkpoint
  config,       // a config file, then overrides
  key_or_path,  // a registered key, or a config file and a path in it
  kind_or_key,
  shell,
  command,
};

struct CommandInfo {
  std::string_view name;
  std::string_view usage;    // what follows "trivet"
  std::string_view summary;  // one line
  std::string_view details;  // paragraphs for the manual page, with line breaks
  std::span<const OptionSpec> options;
  Operand operand = Operand::none;
  // Text after the details that is made of a table; null where there is none.
  std::string (*more_details)() = nullptr;
  // Returns the exit code; throws Error. Gets the words behind the name. [main-thread]
  int (*run)(std::span<const std::string> words);
  // If set, called before anything else in the process. [main-thread]
  void (*at_process_start)() = nullptr;
};

}  // namespace trivet
