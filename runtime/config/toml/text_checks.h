// SPDX-License-Identifier: Apache-2.0
// Checks on the bytes of a config before a parser sees them: toml++ 3.3 aborts on some malformed
// UTF-8 when built with assertions, and a deeply nested tree would overflow the stack of recursive
// functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "trivet/text/utf8.h"

namespace trivet {

// Levels of tables and arrays, counting the parts of dotted keys.
inline constexpr std::size_t kDeepestNesting = 100;

// The offset at which TOML text exceeds kDeepestNesting. Strings and comments are skipped.
std::optional<std::size_t> find_too_deep_nesting(std::string_view text);

// Line and column of an offset, both from 1; columns count characters, not bytes.
struct TextPosition {
  int line = 1;
  int column = 1;
};
TextPosition location_of(std::string_view text, std::size_t offset) noexcept;

}  // namespace trivet
