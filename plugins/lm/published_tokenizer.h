// SPDX-License-Identifier: Apache-2.0
// The tokenizer beside a published model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "published_config.h"
#include "published_layout.h"
#include "trivet/tokenizer.h"

namespace trivet::lm {

struct PublishedTokenizer {
  std::vector<std::string> files;  // names in the folder
  ConfigOf<Tokenizer> config;      // reads those of the folder
  bool has_bos = false;
};

// tokenizer.json, or vocab.json and merges.txt, or tokenizer.model; nothing where there is none of
// them. Throws UsageError for one that cannot be read, or has more tokens than the model.
std::optional<PublishedTokenizer> find_tokenizer(const std::filesystem::path& folder,
                                                 const PublishedConfig& config,
                                                 std::int64_t vocab_size);

// The same files in another folder.
ConfigOf<Tokenizer> in_folder(const ConfigOf<Tokenizer>& config,
                              const std::filesystem::path& folder);

}  // namespace trivet::lm
