// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/models/whole_words.h"

#include <utility>

#include "tokenizers/models/unknown_token.h"

namespace trivet::tokenizers {

WholeWords::WholeWords(const JsonPart& part) : WholeWords(part, read_tokens(part.field("vocab"))) {}

WholeWords::WholeWords(const JsonPart& part, ModelTokens tokens)
    : TokenModel(tokens, unknown_token(part, tokens)) {
  part.check_fields({"vocab", "unk_token"});
}

void WholeWords::encode(std::string_view piece, std::vector<std::int32_t>& ids) const {
  const auto found = tokens().find(piece);
  ids.push_back(found ? *found : unknown_for(piece));
}

}  // namespace trivet::tokenizers
