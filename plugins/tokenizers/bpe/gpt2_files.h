// SPDX-License-Identifier: Apache-2.0
// GPT-2's two files: vocab.json (encoder.json), {"token": id, ...}, and merges.txt (vocab.bpe), one
// merge per line after an optional line "#version: ...".
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tokenizers/bpe/bpe_vocabulary.h"

namespace trivet::tokenizers {

// The special tokens must be in the vocabulary. Unset means "<|endoftext|>" if it exists. Throws
// InputError with file and line.
BpeVocabulary read_gpt2_files(const std::filesystem::path& vocab,
                              const std::filesystem::path& merges,
                              const std::optional<std::vector<std::string>>& special_tokens);

}  // namespace trivet::tokenizers
