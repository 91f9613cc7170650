// SPDX-License-Identifier: Apache-2.0
// Byte pair encoding of one word, over bytes as in GPT-2: the word's bytes are the first tokens,
// and pair_merges.h merges them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/bpe/bpe_vocabulary.h"
#include "tokenizers/bpe/pair_merges.h"

namespace trivet::tokenizers {

class BpeMerges {
 public:
  // The vocabulary must pass check_vocabulary().
  explicit BpeMerges(const BpeVocabulary& vocabulary);

  // Appends the word's tokens. Throws InputError for a byte without a token if the vocabulary has
  // no unknown token. [any-thread]
  void encode(std::string_view word, std::vector<std::int32_t>& ids) const;

 private:
  std::int32_t byte_id(unsigned char byte) const;

  std::array<std::int32_t, 256> bytes_{};  // -1: no token
  std::int32_t unknown_ = -1;
  PairMerges merges_;
};

}  // namespace trivet::tokenizers
