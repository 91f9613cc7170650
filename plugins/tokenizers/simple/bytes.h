// SPDX-License-Identifier: Apache-2.0
// tokenizers/Bytes: every byte is a token whose id is its value. The special tokens that the config
// requests follow.
#pragma once

#include "tokenizers/text/builtin_special_tokens.h"
#include "trivet/tokenizer.h"

namespace trivet::tokenizers {

struct BytesConfig : BuiltinSpecialTokensConfig {};
TRIVET_CONFIG(BytesConfig, BuiltinSpecialTokensConfig)

class Bytes final : public Tokenizer {
 public:
  using Config = BytesConfig;
  explicit Bytes(const Config& config) : special_tokens_(config, 256) {}

  std::int32_t vocabulary_size() const override { return special_tokens_.end(); }
  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::optional<std::int32_t> bos_id() const override { return special_tokens_.bos(); }
  std::optional<std::int32_t> eos_id() const override { return special_tokens_.eos(); }
  std::optional<std::int32_t> pad_id() const override { return special_tokens_.pad(); }
  std::string fingerprint() const override;
  ConfigOf<Tokenizer> store(const std::filesystem::path& folder) const override;

 private:
  BuiltinSpecialTokens special_tokens_;
};

}  // namespace trivet::tokenizers
