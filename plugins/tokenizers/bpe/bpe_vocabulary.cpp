// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/bpe/bpe_vocabulary.h"

#include <set>
#include <unordered_map>

#include <fmt/core.h>

#include "tokenizers/text/byte_characters.h"
#include "trivet/error.h"

namespace trivet::tokenizers {
namespace {

bool is_id(const BpeVocabulary& vocabulary, std::int32_t id) {
  return id >= 0 && static_cast<std::size_t>(id) < vocabulary.tokens.size();
}

void check_added(const BpeVocabulary& vocabulary, const std::string& source) {
  std::set<std::string> contents;
  for (const AddedToken& token : vocabulary.added) {
    if (token.content.empty()) throw InputError(source + ": an added token is empty");
    if (!contents.insert(token.content).second) {
      throw InputError(source + ": the added token \"" + token.content + "\" occurs twice");
    }
    if (!is_id(vocabulary, token.id) ||
        vocabulary.tokens[static_cast<std::size_t>(token.id)] != token.content) {
      throw InputError(fmt::format("{}: the added token \"{}\" has the id {} of another token",
                                   source, token.content, token.id));
    }
  }
}

void check_merges(const BpeVocabulary& vocabulary, const std::string& source) {
  const TokenIds ids(vocabulary);
  std::set<std::pair<std::int32_t, std::int32_t>> seen;
  for (std::size_t i = 0; i < vocabulary.merges.size(); ++i) {
    const auto [left, right] = vocabulary.merges[i];
    const std::string& first = vocabulary.tokens.at(static_cast<std::size_t>(left));
    const std::string& second = vocabulary.tokens.at(static_cast<std::size_t>(right));
    if (!ids.find(first + second)) {
      throw InputError(fmt::format("{}: merge {} makes {}, which is not a token", source, i + 1,
                                   shown_token(first + second)));
    }
    if (!seen.emplace(left, right).second) {
      throw InputError(fmt::format("{}: merge {} of {} and {} occurs twice", source, i + 1,
                                   shown_token(first), shown_token(second)));
    }
  }
}

}  // namespace

TokenIds::TokenIds(const BpeVocabulary& vocabulary) {
  std::set<std::int32_t> added;
  for (const AddedToken& token : vocabulary.added) added.insert(token.id);
  ids_.reserve(vocabulary.tokens.size());
  for (const bool last : {false, true}) {
    for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
      const auto id = static_cast<std::int32_t>(i);
      if (added.contains(id) == last) ids_.try_emplace(vocabulary.tokens[i], id);
    }
  }
}

std::optional<std::int32_t> TokenIds::find(const std::string& bytes) const {
  const auto found = ids_.find(bytes);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

void check_vocabulary(const BpeVocabulary& vocabulary, const std::string& source) {
  check_added(vocabulary, source);
  check_merges(vocabulary, source);
}

std::string shown_token(const std::string& bytes) {
  return '"' + characters_of_bytes(bytes) + '"';
}

}  // namespace trivet::tokenizers
