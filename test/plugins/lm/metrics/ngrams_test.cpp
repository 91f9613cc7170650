// SPDX-License-Identifier: Apache-2.0
// Counting n-grams, by hand and as probabilities.
#include "lm/metrics/ngrams.h"

#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include "trivet/tensor/random.h"

using trivet::lm::Ngrams;
using Tokens = std::vector<std::int32_t>;

TEST_CASE("n-grams are smoothed as in Witten and Bell, computed by hand") {
  // a b a b a c with a = 0, b = 1, c = 2, of four tokens.
  const Tokens text = {0, 1, 0, 1, 0, 2};
  Ngrams unigrams(4, 1), bigrams(4, 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto history = std::span(text).first(i);
    unigrams.add(history, text[i]);
    bigrams.add(history, text[i]);
  }
  // c(a) = 3 of 6, three different tokens: (3 + 3 / 4) / (6 + 3); d never occurred.
  CHECK(unigrams.probability({}, 0) == Approx((3 + 0.75) / 9));
  CHECK(unigrams.probability({}, 3) == Approx(0.75 / 9));
  CHECK(unigrams.probability(text, 0) == unigrams.probability({}, 0));
  // After a: b twice, c once, two different. p(b) = (2 + 2 p1(b)) / (3 + 2), p1(b) = 2.75 / 9.
  CHECK(bigrams.probability(Tokens{0}, 1) == Approx((2 + 2 * 2.75 / 9) / 5));
  CHECK(bigrams.probability(Tokens{1, 0}, 1) == bigrams.probability(Tokens{0}, 1));
  // Nothing came after c: the unigram probability.
  CHECK(bigrams.probability(Tokens{2}, 1) == Approx(2.75 / 9));
  CHECK(Ngrams(4, 3).probability(text, 0) == 0.25);
}

TEST_CASE("probabilities of n-grams sum to 1 after every history") {
  std::vector<std::uint32_t> bits(600);
  trivet::random_bits(trivet::RngKey(5), 0, bits);
  Tokens text;
  for (const std::uint32_t each : bits) text.push_back(static_cast<std::int32_t>(each % 7));
  for (const int order : {1, 2, 3, 5}) {
    Ngrams ngrams(9, order);
    for (std::size_t i = 0; i < text.size(); ++i) {
      ngrams.add(std::span(text).first(i), text[i]);
    }
    for (std::size_t i = 0; i < text.size(); i += 37) {
      double sum = 0;
      for (std::int32_t token = 0; token < 9; ++token) {
        sum += ngrams.probability(std::span(text).first(i), token);
      }
      CHECK(sum == Approx(1));
    }
  }
}
