// SPDX-License-Identifier: Apache-2.0
// WordPiece (Devlin et al. 2018, tokenization.py, WordpieceTokenizer): the longest token at the
// front of the word, then the longest of the rest with "##" in front, and so on. A word of which a
// rest has no token, and one that is too long, is the unknown token.
#pragma once

#include <cstddef>
#include <string>

#include "tokenizers/models/token_model.h"

namespace trivet::tokenizers {

class WordPiece final : public TokenModel {
 public:
  explicit WordPiece(const JsonPart& part);
  void encode(std::string_view piece, std::vector<std::int32_t>& ids) const override;

 private:
  WordPiece(const JsonPart& part, ModelTokens tokens);

  std::string prefix_;
  std::size_t max_characters_;
};

}  // namespace trivet::tokenizers
