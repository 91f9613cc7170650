// SPDX-License-Identifier: Apache-2.0
// Ngrams: the probability of a token from the few before it, by counting: what a language model has
// to beat.
//
// Interpolated Witten-Bell smoothing (Witten and Bell 1991, method C): with c(h w) the count of
// token w behind history h, c(h) their sum over w and t(h) the number of different w,
//
//   p(w | h) = (c(h w) + t(h) p(w | h')) / (c(h) + t(h)),
//
// h' being h without its first token; below the empty history stands 1 / vocabulary.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

namespace trivet::lm {

class Ngrams {
 public:
  // order 1: each token by itself; 3: from the two before it.
  Ngrams(std::int64_t vocabulary, int order) : vocabulary_(vocabulary), order_(order) {}

  int order() const { return order_; }
  // Of `history` the last order - 1 tokens count; it may be shorter.
  void add(std::span<const std::int32_t> history, std::int32_t token);
  double probability(std::span<const std::int32_t> history, std::int32_t token) const;

 private:
  struct History {
    std::int64_t total = 0, different = 0;
  };
  static std::uint64_t key_of(std::span<const std::int32_t> tokens);

  std::int64_t vocabulary_;
  int order_;
  // By digests of 64 bits of the tokens.
  std::unordered_map<std::uint64_t, History> histories_;
  std::unordered_map<std::uint64_t, std::int64_t> counts_;
};

}  // namespace trivet::lm
