// SPDX-License-Identifier: Apache-2.0
// The tokenizer that a run keeps in its directory, so that its weights and its tokens stay together
// whatever becomes of the files that its config names:
//
//   tokenizer/stored.json      {"fingerprint", "tokenizer": its config, with names in the folder}
//   tokenizer/tokenizer.json   or what else Tokenizer::store wrote
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "trivet/tokenizer.h"
#include "trivet/train/init_checkpoint.h"

namespace trivet::lm {

// Keeps a tokenizer in a run's directory that has none; what it is made of there (empty where it
// cannot be stored). Throws RunError for what cannot be written.
ConfigOf<Tokenizer> store_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& run);

bool keeps_tokenizer(const std::filesystem::path& run);

// The tokenizer of the config; that which the run keeps where its files cannot be read. Throws
// ConfigError where the two are different ones. `run` may be empty, or have none.
std::unique_ptr<Tokenizer> tokenizer_of_run(const ConfigOf<Tokenizer>& config,
                                            const std::filesystem::path& run);

// Of a model that starts from the weights of another run: throws ConfigError where that run keeps
// another tokenizer than the config's, `own`, and variables of these layers, which have a row for
// each token, were loaded from it.
void check_loaded_tokens(const Tokenizer& own, const ConfigOf<Tokenizer>& config,
                         const LoadReport& loaded, std::span<const std::string_view> layers);

}  // namespace trivet::lm
