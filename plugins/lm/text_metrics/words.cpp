// SPDX-License-Identifier: Apache-2.0
#include "lm/text_metrics/words.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "trivet/text/utf8.h"

namespace trivet::lm {
namespace {

// Calls visit(character, bytes) for each; bytes that are not UTF-8 have the character 0.
template <class Visit>
void for_characters(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const CodePoint next = first_code_point(text);
    const std::size_t length = std::max<std::size_t>(next.length, 1);
    visit(next.length == 0 ? U'\0' : next.value, text.substr(0, length));
    text.remove_prefix(length);
  }
}

// str.isspace of Python.
bool is_space(char32_t c) {
  if (c <= 0x20) return c == 0x20 || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_ascii_punctuation(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

// \w of Python's re: letters, numbers and the underscore.
bool is_of_word(char32_t c) {
  if (c < 0x80) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  }
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) ||
         (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

// Replaces \b(a|an|the)\b by a blank.
std::string without_articles(std::string_view text) {
  std::string plain, word;
  const auto flush = [&] {
    plain += word == "a" || word == "an" || word == "the" ? " " : word;
    word.clear();
  };
  for_characters(text, [&](char32_t c, std::string_view bytes) {
    if (is_of_word(c)) {
      word += bytes;
      return;
    }
    flush();
    plain += bytes;
  });
  flush();
  return plain;
}

}  // namespace

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for_characters(text, [&](char32_t c, std::string_view bytes) {
    if (!is_space(c)) {
      word += bytes;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  });
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

std::vector<std::string> split_characters(std::string_view text) {
  std::vector<std::string> characters;
  for_characters(text, [&](char32_t c, std::string_view bytes) {
    if (!is_space(c)) characters.emplace_back(bytes);
  });
  return characters;
}

std::string lower_case(std::string_view text) {
  std::string lower;
  for_characters(text, [&](char32_t c, std::string_view bytes) {
    if (c == 0) {
      lower += bytes;
    } else {
      const auto mapped =
          static_cast<std::uint32_t>(utf8proc_tolower(static_cast<std::int32_t>(c)));
      append_utf8(mapped, lower);
    }
  });
  return lower;
}

std::vector<std::string> squad_words(std::string_view text) {
  std::string plain;
  const std::string lower = lower_case(text);
  for_characters(lower, [&](char32_t c, std::string_view bytes) {
    if (!is_ascii_punctuation(c)) plain += bytes;
  });
  return split_words(without_articles(plain));
}

std::size_t shared_words(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::unordered_map<std::string_view, std::size_t> left;
  for (const std::string& word : b) ++left[word];
  std::size_t shared = 0;
  for (const std::string& word : a) {
    const auto found = left.find(word);
    if (found == left.end() || found->second == 0) continue;
    --found->second;
    ++shared;
  }
  return shared;
}

double f_measure(std::size_t shared, std::size_t predicted, std::size_t reference) {
  if (shared == 0) return 0;
  const double precision = static_cast<double>(shared) / static_cast<double>(predicted);
  const double recall = static_cast<double>(shared) / static_cast<double>(reference);
  return 2 * precision * recall / (precision + recall);
}

}  // namespace trivet::lm
