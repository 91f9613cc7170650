// SPDX-License-Identifier: Apache-2.0
// The tokenizer beside a published model.
#pragma once

#include <filesystem>
#include <memory>

#include "lm/huggingface/hf_config.h"
#include "lm/huggingface/hf_layout.h"
#include "trivet/tokenizer.h"

namespace trivet::lm {

struct HfTokenizer {
  std::unique_ptr<Tokenizer> tokenizer;  // null: there is none
  std::filesystem::path file;            // that it was read from, of several the first
};

// tokenizer.json, or vocab.json and merges.txt, or tokenizer.model. Throws UsageError for one that
// cannot be read, or has more tokens than the model.
HfTokenizer find_tokenizer(const std::filesystem::path& folder, const HfConfig& config,
                           std::int64_t vocab_size);

// Whether texts begin with the start token: as "add_bos_token" of tokenizer_config.json says, else
// as the post_processor of tokenizer.json does, if that is what was found, else `otherwise`. Throws
// UsageError for files that cannot be read.
bool adds_start_token(const HfTokenizer& found, bool otherwise);

}  // namespace trivet::lm
