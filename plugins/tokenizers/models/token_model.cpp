// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/models/token_model.h"

#include <limits>
#include <utility>

#include <fmt/core.h>

#include "tokenizers/models/character_bpe.h"
#include "tokenizers/models/unigram.h"
#include "tokenizers/models/whole_words.h"
#include "tokenizers/models/word_piece.h"
#include "tokenizers/text/json_file.h"
#include "trivet/error.h"

namespace trivet::tokenizers {

void ModelTokens::add(const std::string& text, std::int64_t id, const JsonPart& part) {
  if (id < 0 || id >= std::numeric_limits<std::int32_t>::max()) {
    part.fail(fmt::format("has the id {} of {}, which is not a token id", id, shown_json(text)));
  }
  const auto number = static_cast<std::int32_t>(id);
  const auto [other, fresh] = texts_.emplace(number, text);
  if (!fresh) {
    part.fail(fmt::format("has {} and {} with the same id {}", shown_json(other->second),
                          shown_json(text), id));
  }
  if (!ids_.emplace(text, number).second) {
    part.fail(fmt::format("has the token {} twice", shown_json(text)));
  }
}

std::optional<std::int32_t> ModelTokens::find(std::string_view text) const {
  const auto found = ids_.find(text);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

ModelTokens read_tokens(const JsonPart& vocab) {
  if (!vocab.value().is_object()) vocab.fail("must be an object of tokens and ids");
  ModelTokens tokens;
  for (const auto& [text, id] : vocab.value().items()) {
    const bool is_id = id.is_number_unsigned() &&
                       id.get<std::uint64_t>() < std::uint64_t{std::numeric_limits<int>::max()};
    if (!is_id) {
      vocab.fail(fmt::format("has the id {} of {}, which is not a token id", shown_json(id),
                             shown_json(text)));
    }
    tokens.add(text, id.get<std::int64_t>(), vocab);
  }
  return tokens;
}

void TokenModel::encode_bytes(std::string_view bytes, std::vector<std::int32_t>& ids) const {
  ids.push_back(unknown_for(bytes));
}

std::int32_t TokenModel::unknown_for(std::string_view text) const {
  if (unknown_) return *unknown_;
  std::string shown;
  for (const char byte : text.substr(0, 16)) {
    shown += fmt::format(" {:02X}", static_cast<unsigned char>(byte));
  }
  throw InputError(
      fmt::format("the vocabulary has no token for the bytes{}{}", shown,
                  text.size() > 16 ? " ..." : ""),
      {.hint = "the vocabulary has no unknown token, either: add one as \"unk_token\""});
}

bool TokenModel::append_byte_tokens(std::string_view bytes, std::vector<std::int32_t>& ids) const {
  std::vector<std::int32_t> found;
  for (const char byte : bytes) {
    const auto id = tokens_.find(fmt::format("<0x{:02X}>", static_cast<unsigned char>(byte)));
    if (!id) return false;
    found.push_back(*id);
  }
  ids.insert(ids.end(), found.begin(), found.end());
  return true;
}

std::unique_ptr<TokenModel> read_model(const JsonPart& part) {
  if (!part.value().is_object()) part.fail("must be an object with a \"type\"");
  // Files from before version 0.10 of the library lack the type of BPE.
  const std::string type = part.text("type", "BPE");
  if (type == "BPE") return std::make_unique<CharacterBpe>(part);
  if (type == "WordPiece") return std::make_unique<WordPiece>(part);
  if (type == "WordLevel") return std::make_unique<WholeWords>(part);
  if (type == "Unigram") return std::make_unique<Unigram>(part);
  part.fail_type("model", "BPE, WordPiece, WordLevel, Unigram");
}

}  // namespace trivet::tokenizers
