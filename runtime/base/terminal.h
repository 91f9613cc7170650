// SPDX-License-Identifier: Apache-2.0
//
// What depends on whether a stream is a terminal.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace trivet {

enum class Color { red, yellow, cyan, bold };

// True for a terminal that understands more than plain lines.
bool is_screen(std::FILE* stream);
// True for a terminal that can show colors and a user who has not set NO_COLOR.
bool has_colors(std::FILE* stream);

// Columns of the terminal that a descriptor is; 80 when it is none or does not say.
int terminal_columns(int descriptor);

// `text` in this color when `enabled`, else as it is.
std::string colored(std::string_view text, Color color, bool enabled);

// Puts something instead of standard streams that are closed, so that no file of ours becomes
// one of them and gets what is meant for the screen. Reading and writing there fails as before.
void reserve_standard_streams();

// Writes to stdout. Throws Error when that fails (a full disk, a closed descriptor): output that is
// cut off must not look like success.
void print_out(std::string_view text);
void flush_out();

}  // namespace trivet
