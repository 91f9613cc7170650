// SPDX-License-Identifier: Apache-2.0
// The tokenizer next to a Hugging Face model.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lm/huggingface/hf_config.h"
#include "lm/huggingface/hf_layout.h"
#include "trivet/tokenizer.h"

namespace trivet::lm {

struct HfTokenizer {
  std::unique_ptr<Tokenizer> tokenizer;  // null if there is none
  std::filesystem::path file;            // its file, the first of several
};

// Reads tokenizer.json, or vocab.json and merges.txt, or tokenizer.model. Throws UsageError if it
// cannot be read or has more tokens than the model.
HfTokenizer find_tokenizer(const std::filesystem::path& folder, const HfConfig& config,
                           std::int64_t vocab_size);

// Whether texts start with the start token. Uses "add_bos_token" of tokenizer_config.json, else the
// post_processor of tokenizer.json if that file was used, else `otherwise`. Throws UsageError if a
// file cannot be read.
bool adds_start_token(const HfTokenizer& found, bool otherwise);

// A line for each part of the tokenizer's files that would change prompts and is not imported: chat
// templates, and tokens that the post-processor puts behind texts. Throws as adds_start_token().
std::vector<std::string> unused_parts(const HfTokenizer& found);

}  // namespace trivet::lm
