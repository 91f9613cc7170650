// SPDX-License-Identifier: Apache-2.0
// The tokens that start, end and pad texts, which vocabulary files do not define.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "trivet/tokenizer.h"

namespace trivet::tokenizers {

struct SpecialTokensConfig : TokenizerConfig {
  std::optional<std::string> bos_token, eos_token, pad_token;
};
TRIVET_CONFIG(
    SpecialTokensConfig, trivet::TokenizerConfig,
    (bos_token,
     "Begins a text. Unset: <s>, <bos>, <|begin_of_text|> or <|endoftext|>, the first that "
     "there is; empty: none."),
    (eos_token,
     "Ends a text. Unset: </s>, <eos>, <|end_of_text|> or <|endoftext|>, the first that "
     "there is; empty: none."),
    (pad_token, "Fills up behind a text. Unset: <pad> or [PAD] if there is one; empty: none."))

struct SpecialIds {
  std::optional<std::int32_t> bos{}, eos{}, pad{};
};

// `find` returns the id of a special token. Throws ConfigError if a named token does not exist.
SpecialIds special_ids(const SpecialTokensConfig& config,
                       const std::function<std::optional<std::int32_t>(const std::string&)>& find);

}  // namespace trivet::tokenizers
