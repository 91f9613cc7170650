// SPDX-License-Identifier: Apache-2.0
// tokenizers/Characters: every character (Unicode code point) of an alphabet is a token.
//
//   tokenizer = { type = "tokenizers/Characters", alphabet = "abcdefghijklmnopqrstuvwxyz ,.\n" }
//   tokenizer = { type = "tokenizers/Characters", files = ["corpus.txt"] }
//
// Ids follow code points: the alphabet's lowest is 0. Then come 256 ids for bytes, or <unk>,
// depending on `unknown`, then the special tokens that the config requests. With unknown = "bytes"
// decoding restores every byte string, UTF-8 or not. With "token" each character that the alphabet
// lacks, and each byte that is not part of a character, becomes <unk>.
#pragma once

#include <vector>

#include "tokenizers/text/builtin_special_tokens.h"
#include "trivet/tokenizer.h"

namespace trivet::tokenizers {

// How to encode a character that is not in the alphabet.
enum class UnknownCharacter {
  bytes,  // as one token per byte
  token,  // as one token <unk>
  error,  // not at all: encode() throws InputError
};
TRIVET_ENUM(UnknownCharacter, bytes, token, error)

struct CharactersConfig : BuiltinSpecialTokensConfig {
  std::string alphabet;
  std::vector<Path> files;
  UnknownCharacter unknown = UnknownCharacter::bytes;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(CharactersConfig, BuiltinSpecialTokensConfig,
              (alphabet, "The characters, in any order."),
              (files,
               "Text files (plain, gzip or zstd) whose characters are added to the alphabet. Bytes "
               "that are not UTF-8 are ignored."),
              (unknown, "Treatment of characters that are not in the alphabet."))

// The characters of a text, each once, by code point; bytes that are no UTF-8 are left out.
std::vector<char32_t> distinct_characters(std::string_view text);

class Characters final : public Tokenizer {
 public:
  using Config = CharactersConfig;
  explicit Characters(const Config& config);

  std::int32_t vocabulary_size() const override { return special_tokens_.end(); }
  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::optional<std::int32_t> bos_id() const override { return special_tokens_.bos(); }
  std::optional<std::int32_t> eos_id() const override { return special_tokens_.eos(); }
  std::optional<std::int32_t> pad_id() const override { return special_tokens_.pad(); }
  std::optional<std::int32_t> unknown_id() const override;
  std::string fingerprint() const override;
  ConfigOf<Tokenizer> store(const std::filesystem::path& folder) const override;

 private:
  std::int32_t size() const { return static_cast<std::int32_t>(alphabet_.size()); }
  std::int32_t fallback_end() const;

  UnknownCharacter unknown_;
  std::vector<char32_t> alphabet_;  // sorted
  BuiltinSpecialTokens special_tokens_;
};

}  // namespace trivet::tokenizers
