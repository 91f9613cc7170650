// SPDX-License-Identifier: Apache-2.0
// Whether bytes from outside are text at all.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "trivet/export.h"

namespace trivet {

// The offset of the first byte that does not belong to well-formed UTF-8 (RFC 3629: no surrogates,
// no overlong forms, at most U+10FFFF). [any thread]
TRIVET_API std::optional<std::size_t> find_invalid_utf8(std::string_view text) noexcept;

}  // namespace trivet
