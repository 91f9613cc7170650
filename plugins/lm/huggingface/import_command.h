// SPDX-License-Identifier: Apache-2.0
// trivet import: makes a Hugging Face model the first checkpoint of a run.
#pragma once

#include "trivet/command.h"

namespace trivet::lm {

class ImportCommand final : public Command {
 public:
  ImportCommand(const Config&, CommandContext& context) : context_(context) {}
  int run(std::span<const std::string> words) override;

 private:
  CommandContext& context_;
};

}  // namespace trivet::lm
