// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/steps/bert_normalizer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tokenizers/text/unicode.h"

namespace trivet::tokenizers {
namespace {

// The blocks of CJK ideographs that tokenization.py names (_is_chinese_char).
bool is_chinese(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kBlocks[] = {
      {0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
      {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  return std::any_of(std::begin(kBlocks), std::end(kBlocks),
                     [c](const auto& block) { return c >= block.first && c <= block.second; });
}

std::string cleaned(std::string_view text) {
  std::string made;
  for_each_character(text, [&](char32_t c, std::string_view bytes) {
    const bool blank = is_white_space(c);
    const bool line = c == '\t' || c == '\n' || c == '\r';
    if (c == 0 || c == 0xFFFD || (is_control(c) && !line)) return;
    made += blank ? " " : bytes;
  });
  return made;
}

std::string with_blanks_around_chinese(std::string_view text) {
  std::string made;
  for_each_character(text, [&](char32_t c, std::string_view bytes) {
    const bool chinese = is_chinese(c);
    if (chinese) made += ' ';
    made += bytes;
    if (chinese) made += ' ';
  });
  return made;
}

std::string without_accents(std::string_view text) {
  std::string made;
  for_each_character(to_normal_form(text, NormalForm::nfd),
                     [&](char32_t c, std::string_view bytes) {
                       if (!is_nonspacing_mark(c)) made += bytes;
                     });
  return made;
}

}  // namespace

BertNormalizer::BertNormalizer(const JsonPart& part)
    : clean_text_(part.flag("clean_text", true)),
      handle_chinese_chars_(part.flag("handle_chinese_chars", true)),
      lowercase_(part.flag("lowercase", true)),
      strip_accents_(part.flag("strip_accents", lowercase_)) {
  part.check_fields({"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
}

std::string BertNormalizer::apply(std::string text) const {
  if (clean_text_) text = cleaned(text);
  if (handle_chinese_chars_) text = with_blanks_around_chinese(text);
  if (strip_accents_) text = without_accents(text);
  if (lowercase_) text = to_lower_case(text);
  return text;
}

}  // namespace trivet::tokenizers
