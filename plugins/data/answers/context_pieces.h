// SPDX-License-Identifier: Apache-2.0
// The pieces of a context that are tokenized one by one, so that an answer can start and end at
// each of them.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace trivet::data {

// Bytes [begin, end) of a text.
struct TextPiece {
  std::size_t begin = 0, end = 0;
  bool operator==(const TextPiece&) const = default;
};

// The words of BERT's basic tokenizer (Devlin et al. 2018, tokenization.py): white space ends a
// word, and each punctuation mark (the ASCII symbols and Unicode's classes P*) and each CJK
// ideograph is a word of its own.
std::vector<TextPiece> pieces_of(std::string_view text);

}  // namespace trivet::data
