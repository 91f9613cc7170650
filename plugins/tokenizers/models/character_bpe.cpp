// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/models/character_bpe.h"

#include <cstddef>
#include <utility>

#include <fmt/core.h>

#include "tokenizers/models/unknown_token.h"
#include "tokenizers/text/json_file.h"
#include "tokenizers/text/unicode.h"

namespace trivet::tokenizers {
namespace {

std::pair<std::string, std::string> merge_of(const JsonPart& merge) {
  const nlohmann::json& value = merge.value();
  if (value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string()) {
    return {value[0].get<std::string>(), value[1].get<std::string>()};
  }
  if (!value.is_string()) merge.fail("is not a pair of tokens: " + shown_json(value));
  const auto& text = value.get_ref<const std::string&>();
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) merge.fail("does not have two parts: " + shown_json(value));
  return {text.substr(0, space), text.substr(space + 1)};
}

}  // namespace

CharacterBpe::CharacterBpe(const JsonPart& part)
    : CharacterBpe(part, read_tokens(part.field("vocab"))) {}

CharacterBpe::CharacterBpe(const JsonPart& part, ModelTokens tokens)
    : TokenModel(tokens, unknown_token(part, tokens)),
      prefix_(part.text("continuing_subword_prefix", "")),
      suffix_(part.text("end_of_word_suffix", "")),
      byte_fallback_(part.flag("byte_fallback", false)),
      fuse_unknown_(part.flag("fuse_unk", false)),
      ignore_merges_(part.flag("ignore_merges", false)) {
  part.check_fields({"vocab", "merges", "unk_token", "continuing_subword_prefix",
                     "end_of_word_suffix", "byte_fallback", "fuse_unk", "ignore_merges",
                     "dropout"});
  const JsonPart dropout = part.field("dropout");
  if (!dropout.is_null() && dropout.value() != 0) {
    dropout.fail("is not supported: ids would be random", "remove it, or set it to 0");
  }
  read_merges(part.field("merges"));
}

void CharacterBpe::read_merges(const JsonPart& merges) {
  const std::vector<JsonPart> items = merges.items();
  merges_.reserve(items.size());
  for (const JsonPart& merge : items) {
    const auto [first, second] = merge_of(merge);
    const auto left = tokens().find(first), right = tokens().find(second);
    if (!left || !right) {
      merge.fail("names " + shown_json(left ? second : first) + ", which is not a token");
    }
    if (!second.starts_with(prefix_)) {
      merge.fail("has " + shown_json(second) + " without the prefix " + shown_json(prefix_));
    }
    const std::string whole = first + second.substr(prefix_.size());
    const auto token = tokens().find(whole);
    if (!token) merge.fail("makes " + shown_json(whole) + ", which is not a token");
    if (!merges_.add(*left, *right, *token)) merge.fail("occurs twice");
  }
}

void CharacterBpe::encode(std::string_view piece, std::vector<std::int32_t>& ids) const {
  if (piece.empty()) return;
  if (ignore_merges_) {
    if (const auto whole = tokens().find(piece)) return ids.push_back(*whole);
  }
  std::vector<std::int32_t> word;
  std::size_t at = 0;
  bool after_unknown = false;
  for_each_character(piece, [&](char32_t, std::string_view bytes) {
    const bool is_first = at == 0;
    at += bytes.size();
    std::string name;
    if (!is_first) name += prefix_;
    name += bytes;
    if (at == piece.size()) name += suffix_;
    if (const auto id = tokens().find(name)) {
      word.push_back(*id);
      after_unknown = false;
    } else if (byte_fallback_ && append_byte_tokens(name, word)) {
      after_unknown = false;
    } else {
      const std::int32_t unknown = unknown_for(bytes);
      if (!(fuse_unknown_ && after_unknown)) word.push_back(unknown);
      after_unknown = true;
    }
  });
  merges_.apply(word, ids);
}

void CharacterBpe::encode_bytes(std::string_view bytes, std::vector<std::int32_t>& ids) const {
  if (byte_fallback_ && append_byte_tokens(bytes, ids)) return;
  ids.push_back(unknown_for(bytes));
}

}  // namespace trivet::tokenizers
