// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/text/byte_characters.h"

#include <array>

#include "trivet/text/utf8.h"

namespace trivet::tokenizers {
namespace {

constexpr char32_t kFirstStandIn = 0x100;
constexpr int kStandIns = 68;

constexpr bool is_printable(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Tables {
  std::array<char32_t, 256> character{};
  std::array<int, kFirstStandIn + kStandIns> byte{};  // -1: no byte
};

constexpr Tables make_tables() {
  Tables tables;
  for (int& byte : tables.byte) byte = -1;
  char32_t stand_in = kFirstStandIn;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t character = is_printable(byte) ? static_cast<char32_t>(byte) : stand_in++;
    tables.character[static_cast<std::size_t>(byte)] = character;
    tables.byte[character] = byte;
  }
  return tables;
}

constexpr Tables kTables = make_tables();
static_assert(kTables.character[' '] == 0x120 && kTables.character[0xAD] == 0x143);

}  // namespace

std::string characters_of_bytes(std::string_view bytes) {
  std::string characters;
  for (const char byte : bytes) {
    append_utf8(kTables.character[static_cast<unsigned char>(byte)], characters);
  }
  return characters;
}

std::optional<std::string> bytes_of_characters(std::string_view characters) {
  std::string bytes;
  while (!characters.empty()) {
    const CodePoint point = first_code_point(characters);
    if (point.length == 0 || point.value >= kTables.byte.size()) return std::nullopt;
    const int byte = kTables.byte[point.value];
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(byte);
    characters.remove_prefix(point.length);
  }
  return bytes;
}

}  // namespace trivet::tokenizers
