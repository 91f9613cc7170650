// SPDX-License-Identifier: Apache-2.0
// Properties of characters and normal forms of Unicode, as tokenizer.json files use them. Texts
// must be well-formed UTF-8. The data is that of utf8proc (2.8: Unicode 14).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "trivet/text/utf8.h"

namespace trivet::tokenizers {

bool is_white_space(char32_t c);      // the property White_Space
bool is_number(char32_t c);           // Nd, Nl, No
bool is_mark(char32_t c);             // Mn, Mc, Me
bool is_nonspacing_mark(char32_t c);  // Mn
bool is_punctuation(char32_t c);      // P*, and the symbols of ASCII
bool is_control(char32_t c);          // Cc, Cf, Co

enum class NormalForm { nfc, nfd, nfkc, nfkd };
std::string to_normal_form(std::string_view text, NormalForm form);

// Character by character, without rules of context: a final sigma is one like the others.
std::string to_lower_case(std::string_view text);

// The bytes of the first extended grapheme cluster of `text`, which must not be empty.
std::size_t grapheme_length(std::string_view text);

// Calls visit(char32_t, std::string_view of its bytes) for each character.
template <class Visit>
void for_each_character(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const std::size_t length = point.length == 0 ? 1 : point.length;
    visit(point.value, text.substr(0, length));
    text.remove_prefix(length);
  }
}

}  // namespace trivet::tokenizers
