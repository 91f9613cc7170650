// SPDX-License-Identifier: Apache-2.0
// trivet export: writes the model of a run in a Hugging Face layout.
#pragma once

#include "trivet/command.h"

namespace trivet::lm {

class ExportCommand final : public Command {
 public:
  ExportCommand(const Config&, CommandContext& context) : context_(context) {}
  int run(std::span<const std::string> words) override;

 private:
  CommandContext& context_;
};

}  // namespace trivet::lm
