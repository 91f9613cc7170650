// SPDX-License-Identifier: Apache-2.0
// The pre-tokenizers of tokenizer.json, which cut a normalized text into the pieces that the model
// turns into tokens.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tokenizers/text/json_part.h"

namespace trivet::tokenizers {

struct Piece {
  std::string text{};
  bool at_start = false;  // of the whole text
  bool is_utf8 = true;    // else bytes that are no characters; only ByteLevel looks at them
};

using EmitPiece = std::function<void(Piece)>;

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Emits the smaller pieces of a piece in order, none of which is empty. [any-thread]
  virtual void apply(Piece piece, const EmitPiece& emit) const = 0;
};

// Null for null. Throws InputError for a type or field that is not supported.
std::unique_ptr<PreTokenizer> read_pre_tokenizer(const JsonPart& part);

}  // namespace trivet::tokenizers
