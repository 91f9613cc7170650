// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/models/word_piece.h"

#include <utility>

#include "tokenizers/models/unknown_token.h"
#include "tokenizers/text/unicode.h"

namespace trivet::tokenizers {

WordPiece::WordPiece(const JsonPart& part) : WordPiece(part, read_tokens(part.field("vocab"))) {}

WordPiece::WordPiece(const JsonPart& part, ModelTokens tokens)
    : TokenModel(tokens, unknown_token(part, tokens)),
      prefix_(part.text("continuing_subword_prefix", "##")),
      max_characters_(static_cast<std::size_t>(part.integer("max_input_chars_per_word", 100, 0))) {
  part.check_fields(
      {"vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word"});
  if (!unknown()) part.field("unk_token").fail("is missing", "such as \"[UNK]\"");
}

void WordPiece::encode(std::string_view piece, std::vector<std::int32_t>& ids) const {
  std::vector<std::size_t> ends;  // of the characters
  std::size_t at = 0;
  for_each_character(piece, [&](char32_t, std::string_view bytes) {
    at += bytes.size();
    ends.push_back(at);
  });
  if (ends.size() > max_characters_) return ids.push_back(unknown_for(piece));
  std::vector<std::int32_t> word;
  std::size_t begin = 0;
  std::string name;
  while (begin < piece.size()) {
    std::optional<std::int32_t> longest;
    for (auto end = ends.rbegin(); end != ends.rend() && *end > begin; ++end) {
      name = begin == 0 ? std::string() : prefix_;
      name += piece.substr(begin, *end - begin);
      longest = tokens().find(name);
      if (!longest) continue;
      begin = *end;
      break;
    }
    if (!longest) return ids.push_back(unknown_for(piece));
    word.push_back(*longest);
  }
  ids.insert(ids.end(), word.begin(), word.end());
}

}  // namespace trivet::tokenizers
