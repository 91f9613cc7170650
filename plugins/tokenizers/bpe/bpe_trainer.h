// SPDX-License-Identifier: Apache-2.0
//
// Training of byte-level BPE (Sennrich et al. 2016, algorithm 1, over bytes): every word begins as
// its bytes, and as long as the vocabulary may grow, the two neighbors that come most often,
// summed over all words, become one token.
//
// The same counts give the same vocabulary, whatever the order of texts: of pairs that come equally
// often the one with the lower left id is merged, then that with the lower right id. Ids are, as in
// Hugging Face's trainer: special tokens, the 256 bytes in the order of the characters that stand
// for them (byte_characters.h), then what merges make.
//
// Counts of pairs are kept from merge to merge. A merge recounts the words that have its pair, and
// a heap finds the next pair: O(n log n) for n bytes of different words, where counting all words
// anew takes O(n) for each merge.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tokenizers/bpe/bpe_vocabulary.h"

namespace trivet::tokenizers {

struct BpeTraining {
  std::int64_t vocabulary_size = 0;  // of all tokens; less when too few pairs are frequent enough
  std::int64_t min_frequency = 2;    // a pair that comes less often is not merged
  std::vector<std::string> special_tokens{};
};

// Throws UsageError for special tokens that are empty, no UTF-8, have line ends, are the name of a
// byte in files or come twice, and for a vocabulary that is too small for them and the bytes.
void check_training(const BpeTraining& training);

// `words`: each once, with its count, which is at least 1. Throws as check_training().
BpeVocabulary train_bpe(const std::vector<std::pair<std::string, std::int64_t>>& words,
                        const BpeTraining& training);

}  // namespace trivet::tokenizers
