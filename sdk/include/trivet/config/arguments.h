// SPDX-License-Identifier: Apache-2.0
// The arguments of one subcommand, read by a table of options: those of the program, and commands
// that plugins bring (command.h).
//
// Example (sdk/examples/snippets/arguments.cpp#arguments):
//
//   constexpr OptionSpec kOptions[] = {{.name = "workdir", .value = "DIR", .doc = "Where to."}};
//   const Arguments arguments = parse_arguments(words, kOptions);
//   if (const std::string* dir = arguments.last("workdir")) use(*dir);
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"

namespace trivet {

struct OptionSpec {
  std::string_view name;     // "workdir", given as --workdir DIR or --workdir=DIR
  char letter = 0;           // "-w DIR"
  std::string_view value{};  // what the help calls the value; empty: a switch
  std::string_view doc{};
  std::string_view other_names{};  // separated by spaces, mean the same
  bool repeatable = false;
};

// What was given, in the order it was given.
class TRIVET_API Arguments {
 public:
  struct Given {
    std::string name;  // of the option; empty for a plain argument
    std::string value;
  };

  explicit Arguments(std::vector<Given> given) : given_(std::move(given)) {}

  bool has(std::string_view name) const noexcept { return last(name) != nullptr; }
  const std::string* last(std::string_view name) const noexcept;  // null if absent
  std::vector<std::string> all(std::string_view name) const;
  std::vector<std::string> plain() const { return all({}); }
  const std::vector<Given>& given() const noexcept { return given_; }

 private:
  std::vector<Given> given_;
};

// Throws UsageError for an unknown option (with the nearest names), a missing or unexpected value
// and an option given twice that is not repeatable. Everything after "--" is plain.
TRIVET_API Arguments parse_arguments(std::span<const std::string> words,
                                     std::span<const OptionSpec> options);

// The options as lines of a help page.
TRIVET_API std::string options_text(std::span<const OptionSpec> options);

// The option of this name or other name; null if there is none.
TRIVET_API const OptionSpec* find_option(std::span<const OptionSpec> options,
                                         std::string_view name) noexcept;

}  // namespace trivet
