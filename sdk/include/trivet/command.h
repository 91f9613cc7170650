// SPDX-License-Identifier: Apache-2.0
// Command: a subcommand of the program that a plugin brings: `trivet NAME ...`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "trivet/config.h"
#include "trivet/export.h"
#include "trivet/registry.h"

namespace trivet {

struct CommandConfig {};
TRIVET_CONFIG(CommandConfig, trivet::NoBase)

class TRIVET_API Command {
 public:
  static constexpr std::string_view kKind = "command";
  using Config = CommandConfig;
  using Context = NoContext;

  virtual ~Command();
  // Arguments after the subcommand's name; returns the exit status. Writes to stdout and stderr
  // itself.
  virtual int run(std::span<const std::string> arguments) = 0;
};

}  // namespace trivet
