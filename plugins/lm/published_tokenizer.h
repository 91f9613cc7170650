// SPDX-License-Identifier: Apache-2.0
// The tokenizer beside a published model.
#pragma once

#include <filesystem>
#include <memory>

#include "published_config.h"
#include "published_layout.h"
#include "trivet/tokenizer.h"

namespace trivet::lm {

// tokenizer.json, or vocab.json and merges.txt, or tokenizer.model; nothing where there is none of
// them. Throws UsageError for one that cannot be read, or has more tokens than the model.
std::unique_ptr<Tokenizer> find_tokenizer(const std::filesystem::path& folder,
                                          const PublishedConfig& config, std::int64_t vocab_size);

}  // namespace trivet::lm
