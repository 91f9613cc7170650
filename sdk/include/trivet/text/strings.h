// SPDX-License-Identifier: Apache-2.0
// Small functions on texts. All of them: [any-thread]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"

namespace trivet {

// The text without those of the `blanks` that are at its ends.
TRIVET_API std::string_view trim(std::string_view text,
                                 std::string_view blanks = " \t\r\n") noexcept;

// The parts between separators, one more than there are separators: "a,,b" has three, "" has one.
TRIVET_API std::vector<std::string_view> split(std::string_view text, char separator);

// "row" for 1, else "rows", or the `plural` of a noun that has an irregular one.
TRIVET_API std::string noun_for(std::int64_t count, std::string_view noun,
                                std::string_view plural = {});
// "1 row", "3 rows".
TRIVET_API std::string count_of(std::int64_t count, std::string_view noun,
                                std::string_view plural = {});

}  // namespace trivet
