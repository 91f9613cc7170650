// SPDX-License-Identifier: Apache-2.0
// Text as a terminal shows it: cut into characters, measured in columns. Texts come from config
// files and plugins, so they may hold anything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trivet {

// The characters of UTF-8 text, one string each. What a terminal could take for a command becomes a
// space, a byte that is no UTF-8 a '?'.
std::vector<std::string> characters_of(std::string_view text);

// The same as one text again, in which lines stay lines.
std::string printable(std::string_view lines);

// The same in one line.
std::string one_line(std::string_view text);

// Columns of one of those: 0 for marks that join the character before them, 2 for wide ones as in
// Chinese.
int columns_of_character(const std::string& character);
int columns_of(std::string_view text);

// The text safe to show; more than `width` columns are cut at the end.
std::string clipped(std::string_view text, int width);

// One line of facts, the chief ones first: `lead`, then as many of `facts` as fit into `width`
// columns and how many are left out, or `tail` when none are. Width 0: all of it.
std::string facts_line(std::string_view lead, const std::vector<std::string>& facts,
                       std::string_view tail, int width);

}  // namespace trivet
