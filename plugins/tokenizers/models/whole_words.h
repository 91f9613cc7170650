// SPDX-License-Identifier: Apache-2.0
// The model WordLevel: each piece is a token, or unknown.
#pragma once

#include "tokenizers/models/token_model.h"

namespace trivet::tokenizers {

class WholeWords final : public TokenModel {
 public:
  explicit WholeWords(const JsonPart& part);
  void encode(std::string_view piece, std::vector<std::int32_t>& ids) const override;

 private:
  WholeWords(const JsonPart& part, ModelTokens tokens);
};

}  // namespace trivet::tokenizers
