// SPDX-License-Identifier: Apache-2.0
// The choice of a row's tokens to predict as XLNet's pretraining makes it (Yang et al. 2019; the
// formulas are those of Model Garden's XLNetPretrainDataLoader). At most P tokens are chosen:
//
//   single_token  P tokens.
//   whole_word    Words in random order, until they have P tokens.
//   token_span    Spans of L tokens, where P(L) ~ 1 / (L + 1) for L of min to max. Each lies in a
//                 part of L a tokens, a = T / P, which begins at the end of the part before, with
//                 round(u L (a - 1)) tokens before the span; u is uniform in [0, 1). Spans in
//                 random order, until they have P tokens.
//   word_span     The same in words, with a = T / P / 1.2, for a word has 1.2 tokens on average.
//
// The last word or span is cut where it would make more than P tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trivet/config/enums.h"
#include "trivet/tensor/random.h"
#include "trivet/tokenizer.h"

namespace trivet::data {

enum class SampleStrategy { single_token, whole_word, token_span, word_span };
TRIVET_ENUM(SampleStrategy, single_token, whole_word, token_span, word_span)

inline constexpr double kTokensOfWord = 1.2;  // on average, as in the source

struct SpanRules {
  SampleStrategy strategy = SampleStrategy::single_token;
  std::int64_t max_predictions = 0;             // P
  std::int64_t min_length = 1, max_length = 5;  // of a span, in tokens or words
};

// One for each position: whether it is chosen. `is_candidate` says which positions may be, and
// `word_begins` where the words of the row begin, at their end the length of the row; only
// whole_word and word_span read it.
std::vector<bool> choose_spans(const SpanRules& rules, RngKey key,
                               const std::vector<bool>& is_candidate,
                               std::span<const std::size_t> word_begins);

// Where words begin in a row of ids, with its length at the end. A word begins at a token whose
// text in a text begins with a space, as do " the" of GPT-2 and "▁the" of SentencePiece, and at any
// token that is none of the rest of a word ("##ing" of WordPiece). Positions that are no candidates
// are words of their own.
std::vector<std::size_t> word_begins_of(const Tokenizer& tokenizer,
                                        std::span<const std::int32_t> ids,
                                        const std::vector<bool>& is_candidate);

}  // namespace trivet::data
