// SPDX-License-Identifier: Apache-2.0
// The tokens of a context with the bytes that they are of, and the windows of a context that does
// not fit into a row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/tokenizer.h"

namespace trivet::data {

struct ContextTokens {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> begins, ends;  // bytes of each token's piece
};

// Tokenizes each piece (context_pieces.h), one with white space before it with a blank in front.
// Throws InputError, with `location`, as encode_checked does, and for a context over 2 GiB.
ContextTokens tokenize_context(const Tokenizer& tokenizer, std::string_view context,
                               const std::string& location);

// Tokens [begin, begin + length) of a context.
struct ContextWindow {
  std::int64_t begin = 0, length = 0;
  bool operator==(const ContextWindow&) const = default;
};

// Windows of at most `room` tokens, each `stride` after the one before, or `room` if that is less,
// until one reaches the end. One for a context without tokens.
std::vector<ContextWindow> windows_of(std::int64_t tokens, std::int64_t room, std::int64_t stride);

// The window in which `token` has the most context: the largest min(left, right) + length / 100,
// the first of equals (run_squad.py).
std::size_t best_window(const std::vector<ContextWindow>& windows, std::int64_t token);

}  // namespace trivet::data
