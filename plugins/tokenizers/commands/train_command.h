// SPDX-License-Identifier: Apache-2.0
// trivet tokenizer train: makes a vocabulary from text files.
#pragma once

#include <span>
#include <string>

#include "trivet/command.h"

namespace trivet::tokenizers {

void run_train(std::span<const std::string> words, CommandContext& context);

// The options as lines of a help page.
std::string train_options_text();

}  // namespace trivet::tokenizers
