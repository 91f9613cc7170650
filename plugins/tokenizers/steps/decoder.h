// SPDX-License-Identifier: Apache-2.0
// The decoders of tokenizer.json, which make text of tokens.
//
// Two differences to Hugging Face's library, so that bytes come back as they were: bytes that are
// not UTF-8 stay in the text instead of U+FFFD, and ByteLevel leaves added tokens as they are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tokenizers/text/json_part.h"

namespace trivet::tokenizers {

struct DecodedToken {
  std::string text{};
  bool is_added = false;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  // [any-thread]
  virtual std::vector<DecodedToken> apply(std::vector<DecodedToken> tokens) const = 0;
  // Whether tokens become the same text one by one, which takes less memory.
  virtual bool treats_each_alone() const { return false; }
};

// Null for null. Throws InputError for a type or field that is not supported.
std::unique_ptr<Decoder> read_decoder(const JsonPart& part);

// The decoder {"type": "ByteLevel"}.
std::unique_ptr<Decoder> byte_level_decoder();

}  // namespace trivet::tokenizers
