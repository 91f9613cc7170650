// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/huggingface/added_vocabulary.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tokenizers/text/json_file.h"
#include "tokenizers/text/regex.h"
#include "tokenizers/text/unicode.h"

namespace trivet::tokenizers {
namespace {

std::vector<AddedToken> indexed(const std::vector<AddedTokenRule>& rules) {
  std::vector<AddedToken> tokens;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].content.empty()) continue;
    tokens.push_back({.id = static_cast<std::int32_t>(i), .content = rules[i].content});
  }
  return tokens;
}

// Whether the character is part of a word, as \w of regular expressions.
bool is_word_character(std::string_view bytes) {
  static const Regex word(R"([\w\x{200C}\x{200D}])", "a word");
  bool found = false;
  word.for_each(bytes, [&](Regex::Match) { found = true; });
  return found;
}

// The last character of the text; empty if it is none.
std::string_view last_character(std::string_view text) {
  for (std::size_t length = 1; length <= std::min<std::size_t>(4, text.size()); ++length) {
    const std::string_view end = text.substr(text.size() - length);
    if (first_code_point(end).length == length) return end;
  }
  return {};
}

std::string_view first_character(std::string_view text) {
  return text.substr(0, first_code_point(text).length);
}

bool stands_alone(std::string_view before, std::string_view after) {
  const std::string_view last = last_character(before), first = first_character(after);
  return (last.empty() || !is_word_character(last)) && (first.empty() || !is_word_character(first));
}

bool is_blank(std::string_view character) {
  return !character.empty() && is_white_space(first_code_point(character).value);
}

}  // namespace

std::vector<AddedTokenRule> read_added_tokens(const JsonPart& part) {
  std::vector<AddedTokenRule> rules;
  if (part.is_null()) return rules;
  std::set<std::string> contents;
  for (const JsonPart& item : part.items()) {
    item.check_fields(
        {"id", "content", "special", "single_word", "lstrip", "rstrip", "normalized"});
    AddedTokenRule rule;
    rule.content = item.text("content");
    rule.id = static_cast<std::int32_t>(item.integer("id", std::nullopt));
    rule.special = item.flag("special", false);
    rule.single_word = item.flag("single_word", false);
    rule.lstrip = item.flag("lstrip", false);
    rule.rstrip = item.flag("rstrip", false);
    rule.normalized = item.flag("normalized", !rule.special);
    if (rule.content.empty()) item.field("content").fail("is empty");
    if (!contents.insert(rule.content).second) {
      item.field("content").fail("is " + shown_json(rule.content) + ", which occurs twice");
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

AddedVocabulary::AddedVocabulary(std::vector<AddedTokenRule> rules)
    : rules_(std::move(rules)), found_(indexed(rules_)) {}

std::vector<AddedVocabulary::Section> AddedVocabulary::sections(std::string_view text) const {
  std::vector<Section> sections;
  std::size_t done = 0;  // the end of the last section
  std::size_t at = 0;
  while (at <= text.size()) {
    const auto match = found_.find(text.substr(at));
    if (!match) break;
    const AddedTokenRule& rule = rules_[static_cast<std::size_t>(match->id)];
    std::size_t begin = at + match->begin, end = begin + match->length;
    at = end;
    if (rule.single_word && !stands_alone(text.substr(0, begin), text.substr(end))) continue;
    // Blanks that an earlier token took are not taken again.
    begin = std::max(begin, done);
    while (rule.lstrip && begin > done) {
      const std::string_view last = last_character(text.substr(done, begin - done));
      if (!is_blank(last)) break;
      begin -= last.size();
    }
    while (rule.rstrip && is_blank(first_character(text.substr(end)))) {
      end += first_character(text.substr(end)).size();
    }
    if (done < begin) sections.push_back({done, begin});
    sections.push_back({begin, std::max(begin, end), rule.id});
    done = std::max(begin, end);
  }
  if (done < text.size()) sections.push_back({done, text.size()});
  return sections;
}

}  // namespace trivet::tokenizers
