// SPDX-License-Identifier: Apache-2.0
// Byte-level vocabularies write bytes as characters that can be seen (GPT-2, encoder.py,
// bytes_to_unicode): the 188 printable ones of Latin-1 stand for themselves, the other 68 bytes, in
// their order, are U+0100 to U+0143. A space is U+0120.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace trivet::tokenizers {

std::string characters_of_bytes(std::string_view bytes);

// Nothing when a character stands for no byte, or the text is not UTF-8.
std::optional<std::string> bytes_of_characters(std::string_view characters);

}  // namespace trivet::tokenizers
