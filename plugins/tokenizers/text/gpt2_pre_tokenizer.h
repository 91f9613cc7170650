// SPDX-License-Identifier: Apache-2.0
// GPT-2's split of text into words before bytes are merged. Its pattern (encoder.py), where the
// first matching alternative wins:
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// "It's  12%" is "It", "'s", " ", " 12", "%". The categories are Unicode's, \s is its White_Space.
// A byte that is not part of a character is neither letter, number nor space.
#pragma once

#include <cstddef>
#include <string_view>

namespace trivet::tokenizers {

// The number of bytes of the first word of `text`, at least 1. `text` must not be empty. Text after
// `text` has no influence.
std::size_t gpt2_word_length(std::string_view text);

}  // namespace trivet::tokenizers
