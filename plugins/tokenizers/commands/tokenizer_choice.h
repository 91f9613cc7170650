// SPDX-License-Identifier: Apache-2.0
// Finds the tokenizer that a user names: by a file, a folder, a key, a JSON table, or a location in
// a config.
#pragma once

#include <memory>
#include <string>

#include "trivet/command.h"
#include "trivet/tokenizer.h"

namespace trivet::tokenizers {

// Throws UsageError if the name matches nothing, and any error of making the tokenizer.
std::unique_ptr<Tokenizer> chosen_tokenizer(const std::string& name, CommandContext& context);

}  // namespace trivet::tokenizers
