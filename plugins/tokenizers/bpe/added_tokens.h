// SPDX-License-Identifier: Apache-2.0
// Finds added tokens in text: the leftmost one; of several at one position the longest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizers/bpe/bpe_vocabulary.h"

namespace trivet::tokenizers {

class AddedTokens {
 public:
  explicit AddedTokens(std::vector<AddedToken> tokens);

  struct Match {
    std::size_t begin, length;
    std::int32_t id;
  };
  // Finds the first added token in `text`. [any-thread]
  std::optional<Match> find(std::string_view text) const;

 private:
  std::vector<AddedToken> tokens_;                             // longest first
  std::array<std::vector<std::size_t>, 256> by_first_byte_{};  // indices into tokens_
};

}  // namespace trivet::tokenizers
