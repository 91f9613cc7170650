// SPDX-License-Identifier: Apache-2.0
// Byte pair encoding of a piece (Sennrich et al. 2016): its characters are the first tokens, and
// pair_merges.h merges them. After the pre-tokenizer ByteLevel the characters are bytes.
#pragma once

#include <string>

#include "tokenizers/bpe/pair_merges.h"
#include "tokenizers/models/token_model.h"

namespace trivet::tokenizers {

class CharacterBpe final : public TokenModel {
 public:
  explicit CharacterBpe(const JsonPart& part);
  void encode(std::string_view piece, std::vector<std::int32_t>& ids) const override;
  void encode_bytes(std::string_view bytes, std::vector<std::int32_t>& ids) const override;

 private:
  CharacterBpe(const JsonPart& part, ModelTokens tokens);
  void read_merges(const JsonPart& merges);

  std::string prefix_;  // of each token of a word but the first
  std::string suffix_;  // of the last token of a word
  bool byte_fallback_, fuse_unknown_, ignore_merges_;
  PairMerges merges_;
};

}  // namespace trivet::tokenizers
