// SPDX-License-Identifier: Apache-2.0
// What a user calls a tokenizer: a file, a folder, a key, a table of JSON, or a location in a
// config.
#pragma once

#include <memory>
#include <string>

#include "trivet/command.h"
#include "trivet/tokenizer.h"

namespace trivet::tokenizers {

// Throws UsageError when the name fits nothing, and what making the tokenizer throws.
std::unique_ptr<Tokenizer> chosen_tokenizer(const std::string& name, CommandContext& context);

}  // namespace trivet::tokenizers
