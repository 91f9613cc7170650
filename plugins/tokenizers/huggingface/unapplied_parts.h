// SPDX-License-Identifier: Apache-2.0
// The parts of a tokenizer.json that work on the ids of a text: "post_processor", which puts
// special tokens around it, "truncation" and "padding". Tokenizers of trivet add no special tokens;
// what packs sequences does. So these parts are checked and described, not applied.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tokenizers/text/json_part.h"

namespace trivet::tokenizers {

// Returns a line for each of the three parts of the file that is set: "post_processor: [CLS] A
// [SEP]". Throws InputError for a type, field or template that is not supported.
std::vector<std::string> describe_unapplied(const JsonPart& file);

// The same for a tokenizer.json or a folder that has one, and a line for each chat template beside
// it. None for other names.
std::vector<std::string> unapplied_parts(const std::filesystem::path& name);

}  // namespace trivet::tokenizers
