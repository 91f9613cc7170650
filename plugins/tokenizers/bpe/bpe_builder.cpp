// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/bpe/bpe_builder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "tokenizers/text/byte_characters.h"
#include "trivet/error.h"

namespace trivet::tokenizers {

void BpeBuilder::add_token(const std::string& characters, std::int64_t id) {
  // Ids have no gap, so an id that is too large for the vocabulary leaves a lower one missing.
  if (id < 0 || id >= std::numeric_limits<std::int32_t>::max()) {
    throw InputError(
        fmt::format("{}: the id {} of \"{}\" is not a token id", source_, id, characters));
  }
  const auto number = static_cast<std::int32_t>(id);
  const auto [position, fresh] = by_id_.emplace(number, characters);
  if (!fresh) {
    throw InputError(fmt::format("{}: \"{}\" and \"{}\" have the same id {}", source_,
                                 position->second, characters, id));
  }
  if (!ids_.emplace(characters, number).second) {
    throw InputError(fmt::format("{}: the token \"{}\" occurs twice", source_, characters));
  }
}

void BpeBuilder::add_added(AddedToken token) {
  const auto known = find(token.content);
  if (!known) {
    add_token(token.content, token.id);
  } else if (*known != token.id) {
    throw InputError(
        fmt::format("{}: the added token \"{}\" has the id {} and is in the "
                    "vocabulary with {}",
                    source_, token.content, token.id, *known));
  }
  vocabulary_.added.push_back(std::move(token));
}

void BpeBuilder::finish_tokens() {
  std::sort(vocabulary_.added.begin(), vocabulary_.added.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  if (by_id_.empty()) throw InputError(source_ + ": the vocabulary is empty");
  auto added = vocabulary_.added.begin();
  for (const auto& [id, characters] : by_id_) {
    if (static_cast<std::size_t>(id) != vocabulary_.tokens.size()) {
      throw InputError(fmt::format("{}: no token has the id {}, and {} follows", source_,
                                   vocabulary_.tokens.size(), id),
                       {.hint = "ids must be 0, 1, 2, ... without a gap"});
    }
    if (added != vocabulary_.added.end() && added->id == id) {
      vocabulary_.tokens.push_back(characters);
      ++added;
      continue;
    }
    const auto bytes = bytes_of_characters(characters);
    if (!bytes || bytes->empty()) {
      throw InputError(
          fmt::format("{}: the token \"{}\" is not in the characters for bytes", source_,
                      characters),
          {.hint = "only byte-level vocabularies are supported, in which a space is \"\u0120\""});
    }
    vocabulary_.tokens.push_back(*bytes);
  }
}

std::optional<std::int32_t> BpeBuilder::find(const std::string& characters) const {
  const auto found = ids_.find(characters);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::int32_t BpeBuilder::merge_part(const std::string& characters) const {
  if (const auto id = find(characters)) return *id;
  throw InputError(fmt::format("{}: merge {} names \"{}\", which is not a token", source_,
                               vocabulary_.merges.size() + 1, characters));
}

void BpeBuilder::add_merge(const std::string& left, const std::string& right) {
  const std::int32_t first = merge_part(left);
  vocabulary_.merges.emplace_back(first, merge_part(right));
}

BpeVocabulary BpeBuilder::finish() {
  check_vocabulary(vocabulary_, source_);
  return std::move(vocabulary_);
}

}  // namespace trivet::tokenizers
