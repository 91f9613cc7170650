// SPDX-License-Identifier: Apache-2.0
// SentencePiece's way to keep blanks (Kudo and Richardson 2018): a blank is the character U+2581 at
// the beginning of a piece.
#pragma once

#include <string>
#include <string_view>

#include "tokenizers/steps/pre_tokenizer.h"

namespace trivet::tokenizers {

enum class Prepend { always, first, never };

// The fields of both the pre-tokenizer and the decoder.
struct Metaspace {
  explicit Metaspace(const JsonPart& part);

  std::string replacement;
  Prepend prepend;
  bool split;
};

class MetaspacePreTokenizer final : public PreTokenizer {
 public:
  explicit MetaspacePreTokenizer(const JsonPart& part) : fields_(part) {}
  void apply(Piece piece, const EmitPiece& emit) const override;

 private:
  Metaspace fields_;
};

// `text` with `by` in place of each `what`.
std::string with_replaced(std::string_view text, std::string_view what, std::string_view by);

}  // namespace trivet::tokenizers
