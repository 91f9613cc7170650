// SPDX-License-Identifier: Apache-2.0
// Trains byte-level BPE (Sennrich et al. 2016, algorithm 1, over bytes). Every word starts as its
// bytes. Until the vocabulary is full, the most frequent pair of neighbors, summed over all words,
// becomes one token.
//
// The same counts give the same vocabulary, in any order of texts: of equally frequent pairs, the
// one with the lower left id is merged, then the one with the lower right id. Ids are ordered as in
// Hugging Face's trainer: special tokens, the 256 bytes in the order of their characters
// (byte_characters.h), then merged tokens.
//
// Pair counts are updated incrementally. A merge recounts the words that contain its pair, and a
// heap finds the next pair: O(n log n) for n bytes of different words. Counting all words again
// would take O(n) per merge.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tokenizers/bpe/bpe_vocabulary.h"

namespace trivet::tokenizers {

struct BpeTraining {
  std::int64_t vocabulary_size = 0;  // all tokens; fewer if too few pairs are frequent enough
  std::int64_t min_frequency = 2;    // less frequent pairs are not merged
  std::vector<std::string> special_tokens{};
};

// Throws UsageError for special tokens that are empty, invalid UTF-8, contain line ends, equal the
// name of a byte in files or occur twice, and for a vocabulary too small for them and the bytes.
void check_training(const BpeTraining& training);

// `words`: each once, with its count of at least 1. Throws as check_training() does.
BpeVocabulary train_bpe(const std::vector<std::pair<std::string, std::int64_t>>& words,
                        const BpeTraining& training);

}  // namespace trivet::tokenizers
