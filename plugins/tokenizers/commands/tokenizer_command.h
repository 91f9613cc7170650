// SPDX-License-Identifier: Apache-2.0
// trivet tokenizer train|encode|decode|info
#pragma once

#include "trivet/command.h"

namespace trivet::tokenizers {

class TokenizerCommand final : public Command {
 public:
  using Config = CommandConfig;
  TokenizerCommand(const Config&, CommandContext& context) : context_(context) {}

  int run(std::span<const std::string> words) override;

 private:
  void run_action(std::span<const std::string> words);

  CommandContext& context_;
};

}  // namespace trivet::tokenizers
