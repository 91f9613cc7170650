// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/bpe/word_counts.h"

#include <algorithm>
#include <span>

#include "tokenizers/text/corpus.h"
#include "tokenizers/text/gpt2_pre_tokenizer.h"
#include "trivet/os/input_file.h"
#include "trivet/os/text_check.h"

namespace trivet::tokenizers {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

std::vector<AddedToken> make_added(const std::vector<std::string>& contents) {
  std::vector<AddedToken> tokens;
  for (const std::string& content : contents) tokens.push_back({.content = content});
  return tokens;
}

// Returns the last line end after a character that is not one: a word starts there, whatever
// follows. 0 if there is none.
std::size_t last_cut(std::string_view text) {
  std::size_t at = text.rfind('\n');
  while (at != std::string_view::npos && at > 0) {
    const unsigned char before = static_cast<unsigned char>(text[at - 1]);
    // A byte of a multi-byte character might be part of white space.
    if (before > ' ' && before < 0x7F) return at;
    at = text.rfind('\n', at - 1);
  }
  return 0;
}

}  // namespace

WordCounts::WordCounts(const std::vector<std::string>& special_tokens)
    : special_(make_added(special_tokens)) {}

void WordCounts::add(std::string_view text) {
  bytes_ += text.size();
  while (const auto match = special_.find(text)) {
    add_piece(text.substr(0, match->begin));
    text.remove_prefix(match->begin + match->length);
  }
  add_piece(text);
}

void WordCounts::add_piece(std::string_view text) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, gpt2_word_length(text));
    if (const auto found = counts_.find(word); found != counts_.end()) {
      ++found->second;
    } else {
      counts_.emplace(word, 1);
    }
    text.remove_prefix(word.size());
  }
}

void WordCounts::add_file(const std::filesystem::path& file) {
  InputFile in(file.string());
  TextCheck check(in.name(), kNoTextHint);
  std::string text;
  for (bool more = true; more;) {
    const std::size_t held = text.size();
    // Doubles the size each time that there is no position to cut.
    text.resize(held + std::max(held, kPieceBytes));
    const std::size_t count = in.read(std::span(text).subspan(held));
    text.resize(held + count);
    check.add(std::string_view(text).substr(held));
    more = count > 0;
    const std::size_t cut = more ? last_cut(text) : text.size();
    add(std::string_view(text).substr(0, cut));
    text.erase(0, cut);
  }
  check.finish();
}

std::vector<std::pair<std::string, std::int64_t>> WordCounts::sorted() const {
  std::vector<std::pair<std::string, std::int64_t>> words(counts_.begin(), counts_.end());
  std::sort(words.begin(), words.end());
  return words;
}

}  // namespace trivet::tokenizers
