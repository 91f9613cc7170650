// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/text/gpt2_pre_tokenizer.h"

#include <utf8proc.h>

#include "tokenizers/text/unicode.h"
#include "trivet/text/utf8.h"

namespace trivet::tokenizers {
namespace {

enum class Class { letter, number, space, other };

struct Character {
  Class kind = Class::other;
  std::size_t length = 0;  // 0 at the end
};

Class class_of(char32_t c) {
  if (is_white_space(c)) return Class::space;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return Class::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return Class::number;
    default:
      return Class::other;
  }
}

Character character_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {};
  const CodePoint point = first_code_point(text.substr(at));
  return point.length == 0 ? Character{Class::other, 1}
                           : Character{class_of(point.value), point.length};
}

// The end of the run of characters of one class that starts at `at`.
std::size_t run_end(std::string_view text, std::size_t at, Class kind) {
  while (true) {
    const Character next = character_at(text, at);
    if (next.length == 0 || next.kind != kind) return at;
    at += next.length;
  }
}

std::size_t contraction_length(std::string_view text) {
  for (const std::string_view word : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.starts_with(word)) return word.size();
  }
  return 0;
}

// The whole run at the end of the text. Before other text the last character is left to the next
// word, unless it is the only one.
std::size_t space_length(std::string_view text) {
  std::size_t end = 0, last = 0;
  for (Character next = character_at(text, 0); next.length > 0 && next.kind == Class::space;
       next = character_at(text, end)) {
    last = end;
    end += next.length;
  }
  return end == text.size() || last == 0 ? end : last;
}

}  // namespace

std::size_t gpt2_word_length(std::string_view text) {
  if (const std::size_t length = contraction_length(text)) return length;
  const std::size_t begin = text[0] == ' ' ? 1 : 0;
  const Character first = character_at(text, begin);
  if (first.length > 0 && first.kind != Class::space) return run_end(text, begin, first.kind);
  return space_length(text);
}

}  // namespace trivet::tokenizers
