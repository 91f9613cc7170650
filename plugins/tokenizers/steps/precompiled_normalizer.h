// SPDX-License-Identifier: Apache-2.0
// The normalizer of a SentencePiece model, "precompiled_charsmap" in Base64: the bytes of a
// double-array trie (darts-clone) over texts, and the texts that they become. An entry of the trie
// is the offset of the new text, which ends with a zero.
//
// As in Hugging Face's library, a grapheme cluster below 6 bytes becomes the text of its shortest
// prefix in the trie; else each of its characters is looked up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/steps/normalizer.h"

namespace trivet::tokenizers {

class PrecompiledNormalizer final : public Normalizer {
 public:
  explicit PrecompiledNormalizer(const JsonPart& part);
  std::string apply(std::string text) const override;

 private:
  std::optional<std::string_view> find(std::string_view text) const;

  std::vector<std::uint32_t> trie_;
  std::string texts_;
};

}  // namespace trivet::tokenizers
