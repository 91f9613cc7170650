// SPDX-License-Identifier: Apache-2.0
// Chooses the tokens at the start and end of documents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trivet/tokenizer.h"

namespace trivet::data {

// What a config asks for one special token.
struct SpecialTokenWish {
  const char* name;  // "bos": for messages
  std::optional<bool> add;
  std::optional<std::int32_t> id;
  std::string flag = std::string("add_") + name;  // the field that requests it
};

// Returns BOS or EOS as requested; unset means "if there is one". `own` is the tokenizer's. Ids
// must be below `vocabulary_size` (0: unknown). Throws InputError, located at `input`, if the token
// is requested but does not exist.
std::optional<std::int32_t> special_token(const SpecialTokenWish& wish,
                                          std::optional<std::int32_t> own,
                                          std::int64_t vocabulary_size, const std::string& input);

// Returns the size of the tokenizer's vocabulary. Throws InputError if it is not positive.
std::int64_t checked_vocabulary(const Tokenizer& tokenizer, const std::string& input);

}  // namespace trivet::data
