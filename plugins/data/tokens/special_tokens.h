// SPDX-License-Identifier: Apache-2.0
// Which tokens documents begin and end with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trivet/tokenizer.h"

namespace trivet::data {

// What a config says of one of them.
struct SpecialTokenWish {
  const char* name;  // "bos": for messages
  std::optional<bool> add;
  std::optional<std::int32_t> id;
  std::string flag = std::string("add_") + name;  // the field that asks for it
};

// BOS or EOS as wished, unset being "where there is one"; `own` is the tokenizer's. Ids must be
// below `vocabulary_size` (0: not known). Throws InputError, with `input` as its location, for one
// that is wanted and not there.
std::optional<std::int32_t> special_token(const SpecialTokenWish& wish,
                                          std::optional<std::int32_t> own,
                                          std::int64_t vocabulary_size, const std::string& input);

// The size of the tokenizer's vocabulary. Throws InputError when there is none.
std::int64_t checked_vocabulary(const Tokenizer& tokenizer, const std::string& input);

}  // namespace trivet::data
