// SPDX-License-Identifier: Apache-2.0
// How GPT-2 cuts text into words before it merges bytes; its pattern (encoder.py), the first
// alternative that fits counts:
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// "It's  12%" is "It", "'s", " ", " 12", "%". The categories are Unicode's, \s is its White_Space.
// A byte that belongs to no character is neither letter, number nor space.
#pragma once

#include <cstddef>
#include <string_view>

namespace trivet::tokenizers {

// Bytes of the first word of `text`, which must not be empty; at least 1. What follows `text`
// plays no part.
std::size_t gpt2_word_length(std::string_view text);

}  // namespace trivet::tokenizers
