// SPDX-License-Identifier: Apache-2.0
// UTF-8 (RFC 3629: no surrogates, no overlong forms, at most U+10FFFF) in bytes that need not be
// text at all. All functions: [any-thread]
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "trivet/base/export.h"

namespace trivet {

// The offset of the first byte that does not belong to well-formed UTF-8.
TRIVET_API std::optional<std::size_t> find_invalid_utf8(std::string_view text) noexcept;

struct CodePoint {
  char32_t value = 0;
  std::size_t length = 0;  // in bytes; 0: there is none
};

// The character at the front of `text`. None when it is empty, or when its first byte begins no
// well-formed sequence.
TRIVET_API CodePoint first_code_point(std::string_view text) noexcept;

// The offset of the sequence at the end of `text` that is the beginning of a character and could
// become a whole one by what follows; the size of `text` when there is none.
TRIVET_API std::size_t incomplete_utf8(std::string_view text) noexcept;

// Appends the character, which must be neither a surrogate nor above U+10FFFF.
TRIVET_API void append_utf8(char32_t character, std::string& text);

}  // namespace trivet
