// SPDX-License-Identifier: Apache-2.0
// The models of tokenizer.json, which make tokens of the pieces of a text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizers/text/json_part.h"

namespace trivet::tokenizers {

// The tokens of a model, without added tokens, and their ids.
class ModelTokens {
 public:
  // Throws InputError, which names `part`, if the token or its id is there already.
  void add(const std::string& text, std::int64_t id, const JsonPart& part);
  std::optional<std::int32_t> find(std::string_view text) const;
  const std::unordered_map<std::int32_t, std::string>& by_id() const { return texts_; }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> ids_;
  std::unordered_map<std::int32_t, std::string> texts_;
};

// Reads "vocab", an object of tokens and ids.
ModelTokens read_tokens(const JsonPart& vocab);

class TokenModel {
 public:
  virtual ~TokenModel() = default;

  // Appends the tokens of a piece, which is UTF-8. Throws InputError for what has no token if there
  // is no unknown token. [any-thread]
  virtual void encode(std::string_view piece, std::vector<std::int32_t>& ids) const = 0;
  // As encode(), for bytes that are not UTF-8.
  virtual void encode_bytes(std::string_view bytes, std::vector<std::int32_t>& ids) const;

  const ModelTokens& tokens() const { return tokens_; }
  std::optional<std::int32_t> unknown() const { return unknown_; }

 protected:
  // "unk_token" of `part`, which must be a token.
  TokenModel(ModelTokens tokens, std::optional<std::int32_t> unknown)
      : tokens_(std::move(tokens)), unknown_(unknown) {}

  // The unknown token. Throws InputError, which shows the text, if there is none.
  std::int32_t unknown_for(std::string_view text) const;
  // Appends the tokens "<0x00>" to "<0xFF>" of the bytes. False, and appends none, if one is
  // missing.
  bool append_byte_tokens(std::string_view bytes, std::vector<std::int32_t>& ids) const;

 private:
  ModelTokens tokens_;
  std::optional<std::int32_t> unknown_;
};

// Throws InputError for a model or field that is not supported.
std::unique_ptr<TokenModel> read_model(const JsonPart& part);

}  // namespace trivet::tokenizers
