// SPDX-License-Identifier: Apache-2.0
// Tokenizer: text to token ids and back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/config.h"
#include "trivet/export.h"
#include "trivet/registry.h"

namespace trivet {

struct TokenizerConfig {};
TRIVET_CONFIG(TokenizerConfig, trivet::NoBase)

class TRIVET_API Tokenizer {
 public:
  static constexpr std::string_view kKind = "tokenizer";
  using Config = TokenizerConfig;
  using Context = NoContext;

  virtual ~Tokenizer();
  // decode(encode(text)) is the text again, for every byte string. [any thread]
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
  virtual std::int32_t vocabulary_size() const = 0;
};

}  // namespace trivet
