// SPDX-License-Identifier: Apache-2.0
// Ngrams: estimates the probability of a token from the few before it by counting. A baseline for
// language models.
//
// Interpolated Witten-Bell smoothing (Witten and Bell 1991, method C): with c(h w) the count of
// token w after history h, c(h) their sum over w and t(h) the number of different w,
//
//   p(w | h) = (c(h w) + t(h) p(w | h')) / (c(h) + t(h)),
//
// h' being h without its first token. The empty history backs off to 1 / vocabulary.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

namespace trivet::lm {

class Ngrams {
 public:
  // order 1: each token alone; 3: from the two before it.
  Ngrams(std::int64_t vocabulary, int order) : vocabulary_(vocabulary), order_(order) {}

  int order() const { return order_; }
  // Uses the last order - 1 tokens of `history`, which may be shorter.
  void add(std::span<const std::int32_t> history, std::int32_t token);
  double probability(std::span<const std::int32_t> history, std::int32_t token) const;

 private:
  struct History {
    std::int64_t total = 0, different = 0;
  };
  static std::uint64_t key_of(std::span<const std::int32_t> tokens);

  std::int64_t vocabulary_;
  int order_;
  // Keyed by 64-bit digests of the tokens.
  std::unordered_map<std::uint64_t, History> histories_;
  std::unordered_map<std::uint64_t, std::int64_t> counts_;
};

}  // namespace trivet::lm
