// SPDX-License-Identifier: Apache-2.0
// Merges the tokens of one word (Sennrich et al. 2016): the neighbors with the earliest merge
// become one token, the leftmost first, until no merge applies.
//
// Candidates are in a heap by merge and position, and tokens are a linked list: O(n log n) for n
// tokens. A scan of all neighbors after each merge would take O(n^2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

namespace trivet::tokenizers {

class PairMerges {
 public:
  void reserve(std::size_t merges) { merges_.reserve(merges); }
  // Adds the next merge. False if the pair has one.
  bool add(std::int32_t left, std::int32_t right, std::int32_t token);
  // Appends what becomes of the tokens. [any-thread]
  void apply(const std::vector<std::int32_t>& tokens, std::vector<std::int32_t>& ids) const;

 private:
  struct Merge {
    std::int32_t rank;
    std::int32_t token;
  };
  const Merge* find(std::int32_t left, std::int32_t right) const;

  boost::unordered_flat_map<std::uint64_t, Merge> merges_;  // keyed by both ids
};

}  // namespace trivet::tokenizers
