// SPDX-License-Identifier: Apache-2.0
// Byte pair encoding of one word (Sennrich et al. 2016, over bytes as in GPT-2). The word's bytes
// are the first tokens. Then the neighbors with the earliest merge become one token, the leftmost
// first, until no merge applies.
//
// Candidates are in a heap by merge and position, and tokens are a linked list: O(n log n) for n
// bytes. A scan of all neighbors after each merge would take O(n^2).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "tokenizers/bpe/bpe_vocabulary.h"

namespace trivet::tokenizers {

class BpeMerges {
 public:
  // The vocabulary must pass check_vocabulary().
  explicit BpeMerges(const BpeVocabulary& vocabulary);

  // Appends the word's tokens. Throws InputError for a byte without a token if the vocabulary has
  // no unknown token. [any-thread]
  void encode(std::string_view word, std::vector<std::int32_t>& ids) const;

 private:
  struct Merge {
    std::int32_t rank;
    std::int32_t token;
  };
  const Merge* find(std::int32_t left, std::int32_t right) const;
  std::int32_t byte_id(unsigned char byte) const;

  std::array<std::int32_t, 256> bytes_{};  // -1: no token
  std::int32_t unknown_ = -1;
  boost::unordered_flat_map<std::uint64_t, Merge> merges_;  // keyed by both ids
};

}  // namespace trivet::tokenizers
