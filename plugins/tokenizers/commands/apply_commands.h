// SPDX-License-Identifier: Apache-2.0
// trivet tokenizer encode, decode and info: apply and describe a tokenizer.
#pragma once

#include <span>
#include <string>

#include "trivet/command.h"

namespace trivet::tokenizers {

void run_encode(std::span<const std::string> words, CommandContext& context);
void run_decode(std::span<const std::string> words, CommandContext& context);
void run_info(std::span<const std::string> words, CommandContext& context);

}  // namespace trivet::tokenizers
