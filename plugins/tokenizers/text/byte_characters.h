// SPDX-License-Identifier: Apache-2.0
// Byte-level vocabularies write bytes as visible characters (GPT-2, encoder.py, bytes_to_unicode):
// the 188 printable characters of Latin-1 represent themselves; the other 68 bytes, in order, are
// U+0100 to U+0143. A space is U+0120.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace trivet::tokenizers {

std::string characters_of_bytes(std::string_view bytes);

// Empty if a character represents no byte or the text is not UTF-8.
std::optional<std::string> bytes_of_characters(std::string_view characters);

}  // namespace trivet::tokenizers
