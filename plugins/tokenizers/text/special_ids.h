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
     "Token at the start of a text. Default: the first of <s>, <bos>, <|begin_of_text|> and "
     "<|endoftext|> in the vocabulary. Empty: none."),
    (eos_token,
     "Token at the end of a text. Default: the first of </s>, <eos>, <|end_of_text|> and "
     "<|endoftext|> in the vocabulary. Empty: none."),
    (pad_token,
     "Token that pads a text. Default: <pad> or [PAD], if the vocabulary has one. Empty: none."))

struct SpecialIds {
  std::optional<std::int32_t> bos{}, eos{}, pad{};
};

// `find` returns the id of a special token. Throws ConfigError if a named token does not exist.
SpecialIds special_ids(const SpecialTokensConfig& config,
                       const std::function<std::optional<std::int32_t>(const std::string&)>& find);

}  // namespace trivet::tokenizers
