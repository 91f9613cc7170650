// SPDX-License-Identifier: Apache-2.0
//
// A subcommand of the program: what `--help`, the manual page, completion and main know of it.
// Each lives in a file of its own and hands out its description; commands.cpp lists them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "trivet/config/arguments.h"

namespace trivet {

// What a plain argument may be; completion offers accordingly.
enum class Operand {
  none,
  path,         // of a run, a directory or a checkpoint
  config,       // a config file first, overrides after it
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
  // What stands behind the details and is made of a table; null where there is none.
  std::string (*more_details)() = nullptr;
  // Returns the exit code; throws Error. Gets the words behind the name. [main-thread]
  int (*run)(std::span<const std::string> words);
  // Called before anything else in the process, where there is something to do. [main-thread]
  void (*at_process_start)() = nullptr;
};

}  // namespace trivet
