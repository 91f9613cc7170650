// SPDX-License-Identifier: Apache-2.0
// tokenizers/Bytes: every byte is a token, its id is its value. Behind them come the special tokens
// that the config asks for.
#pragma once

#include "tokenizers/text/mark_tokens.h"
#include "trivet/tokenizer.h"

namespace trivet::tokenizers {

struct BytesConfig : MarkTokensConfig {};
TRIVET_CONFIG(BytesConfig, MarkTokensConfig)

class Bytes final : public Tokenizer {
 public:
  using Config = BytesConfig;
  explicit Bytes(const Config& config) : marks_(config, 256) {}

  std::int32_t vocabulary_size() const override { return marks_.end(); }
  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::optional<std::int32_t> bos_id() const override { return marks_.bos(); }
  std::optional<std::int32_t> eos_id() const override { return marks_.eos(); }
  std::optional<std::int32_t> pad_id() const override { return marks_.pad(); }
  std::string fingerprint() const override;
  ConfigOf<Tokenizer> store(const std::filesystem::path& folder) const override;

 private:
  MarkTokens marks_;
};

}  // namespace trivet::tokenizers
