// SPDX-License-Identifier: Apache-2.0
// Cuts a text at the matches of a pattern. The "behavior" of tokenizer.json decides about the
// matches.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "tokenizers/steps/pre_tokenizer.h"

namespace trivet::tokenizers {

enum class Behavior {
  removed,               // it is left out
  isolated,              // it is a piece
  merged_with_previous,  // it is the end of the piece before it
  merged_with_next,      // it is the beginning of the piece after it
  contiguous             // it is a piece with the matches directly after it
};

// Throws InputError for another name.
Behavior read_behavior(const JsonPart& part, const char* field, const char* otherwise);

// A part of a text, in order and without gaps.
struct Cut {
  std::size_t begin, end;
  bool is_match;
};

// Emits the pieces of a text. Empty ones are left out.
void emit_cuts(const Piece& piece, std::vector<Cut> cuts, Behavior behavior, const EmitPiece& emit);

// Cuts at each character that matches.
std::vector<Cut> cuts_at(std::string_view text, const std::function<bool(char32_t)>& matches);

}  // namespace trivet::tokenizers
