// SPDX-License-Identifier: Apache-2.0
// A run keeps its tokenizer in its directory, so that the run does not depend on the files that its
// config names:
//
//   tokenizer/stored.json      {"fingerprint", "tokenizer": its config, with names in the folder}
//   tokenizer/tokenizer.json   or other files written by Tokenizer::store
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "trivet/tokenizer.h"
#include "trivet/train/init_checkpoint.h"

namespace trivet::lm {

// Stores a tokenizer in a run's directory that has none and returns its config there (empty if it
// cannot be stored). Throws RunError if writing fails.
ConfigOf<Tokenizer> store_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& run);

bool keeps_tokenizer(const std::filesystem::path& run);

// Returns the config's tokenizer, or the run's copy if the config's files cannot be read. Throws
// ConfigError if the two differ. `run` may be empty or have no copy.
std::unique_ptr<Tokenizer> tokenizer_of_run(const ConfigOf<Tokenizer>& config,
                                            const std::filesystem::path& run);

// For a model that starts from the weights of another run: throws ConfigError if that run's
// tokenizer differs from `own` and variables of these layers, which have a row per token, were
// loaded from it.
void check_loaded_tokens(const Tokenizer& own, const ConfigOf<Tokenizer>& config,
                         const LoadReport& loaded, std::span<const std::string_view> layers);

}  // namespace trivet::lm
