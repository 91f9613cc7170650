// SPDX-License-Identifier: Apache-2.0
// Functions that depend on whether a stream is a terminal.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace trivet {

enum class Color { red, yellow, cyan, bold };

// Whether the terminal supports cursor control.
bool is_screen(std::FILE* stream);
// Whether the terminal supports colors and the user has not set NO_COLOR.
bool has_colors(std::FILE* stream);

// The width of a descriptor's terminal in columns. 80 if it is not a terminal or the width is
// unknown.
int terminal_columns(int descriptor);

// `text` in this color if `enabled`, else unchanged.
std::string colored(std::string_view text, Color color, bool enabled);

// Replaces closed standard streams by placeholders, so that no other file gets their descriptors
// and output meant for the screen. Reading and writing the placeholders fails.
void reserve_standard_streams();

// Writes to stdout. Throws Error on failure (a full disk, a closed descriptor): truncated output
// must not look like success.
void print_out(std::string_view text);
void flush_out();

}  // namespace trivet
