// SPDX-License-Identifier: Apache-2.0
// Text for terminals: split into characters, measured in columns. Texts come from config files and
// plugins, so they may contain any bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trivet {

// The characters of UTF-8 text, one string each. Control characters become a space, invalid bytes a
// '?'.
std::vector<std::string> characters_of(std::string_view text);

// The same as one string; line ends are kept.
std::string printable(std::string_view lines);

// The same as one line.
std::string one_line(std::string_view text);

// The columns of such a character: 0 for combining marks, 2 for wide characters as in Chinese.
int columns_of_character(const std::string& character);
int columns_of(std::string_view text);

// The printable text, truncated to `width` columns.
std::string clipped(std::string_view text, int width);

// One line of facts, the most important first: `lead`, then as many of `facts` as fit into `width`
// columns, then the number of omitted facts, or `tail` if none are omitted. Width 0: no limit.
std::string facts_line(std::string_view lead, const std::vector<std::string>& facts,
                       std::string_view tail, int width);

}  // namespace trivet
