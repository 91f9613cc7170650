// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/bpe/added_tokens.h"

#include <algorithm>
#include <utility>

namespace trivet::tokenizers {

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::stable_sort(tokens_.begin(), tokens_.end(), [](const AddedToken& a, const AddedToken& b) {
    return a.content.size() > b.content.size();
  });
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    by_first_byte_[static_cast<unsigned char>(tokens_[i].content.front())].push_back(i);
  }
}

std::optional<AddedTokens::Match> AddedTokens::find(std::string_view text) const {
  if (tokens_.empty()) return std::nullopt;
  for (std::size_t begin = 0; begin < text.size(); ++begin) {
    for (const std::size_t i : by_first_byte_[static_cast<unsigned char>(text[begin])]) {
      const AddedToken& token = tokens_[i];
      if (text.substr(begin).starts_with(token.content)) {
        return Match{begin, token.content.size(), token.id};
      }
    }
  }
  return std::nullopt;
}

}  // namespace trivet::tokenizers
