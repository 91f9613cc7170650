// SPDX-License-Identifier: Apache-2.0
#include "base/terminal_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "trivet/text/utf8.h"

namespace trivet {
namespace {

bool is_control(const std::string& character) {
  const auto byte = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return byte < 0x20 || byte == 0x7F;
  return character.size() == 2 && byte == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

// The common case: one column per byte and no control characters.
bool is_plain_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

// Removes the indent and keeps one blank between words.
std::string words_of(std::string_view text) {
  std::string words;
  for (const char c : text) {
    if (c != ' ' || (!words.empty() && words.back() != ' ')) words += c;
  }
  return words;
}

}  // namespace

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> characters;
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    std::size_t length = byte < 0x80 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    length = std::min(length, text.size());
    std::string character(text.substr(0, length));
    if (find_invalid_utf8(character)) {
      characters.emplace_back("?");
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(length);
    characters.push_back(is_control(character) ? " " : std::move(character));
  }
  return characters;
}

std::string printable(std::string_view lines) {
  if (is_plain_ascii(lines)) return std::string(lines);
  std::string shown;
  while (true) {
    const std::size_t end = lines.find('\n');
    for (const std::string& character : characters_of(lines.substr(0, end))) shown += character;
    if (end == std::string_view::npos) return shown;
    shown += '\n';
    lines.remove_prefix(end + 1);
  }
}

std::string one_line(std::string_view text) {
  if (is_plain_ascii(text)) return std::string(text);
  std::string shown;
  for (const std::string& character : characters_of(text)) shown += character;
  return shown;
}

int columns_of_character(const std::string& character) {
  if (character.size() <= 1) return static_cast<int>(character.size());
  utf8proc_int32_t code = 0;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(character.data());
  utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(character.size()), &code);
  // Newer than the library, not than the terminal.
  if (utf8proc_category(code) == UTF8PROC_CATEGORY_CN) return 1;
  return utf8proc_charwidth(code);
}

int columns_of(std::string_view text) {
  if (is_plain_ascii(text)) return static_cast<int>(text.size());
  const std::vector<std::string> characters = characters_of(text);
  return std::accumulate(
      characters.begin(), characters.end(), 0,
      [](int sum, const std::string& character) { return sum + columns_of_character(character); });
}

std::string clipped(std::string_view text, int width) {
  if (is_plain_ascii(text)) return std::string(text.substr(0, std::max(width, 0)));
  std::string shown;
  int columns = 0;
  for (const std::string& character : characters_of(text)) {
    columns += columns_of_character(character);
    if (columns > width) break;
    shown += character;
  }
  return shown;
}

std::string facts_line(std::string_view lead, const std::vector<std::string>& facts,
                       std::string_view tail, int width) {
  const auto line_of = [&](std::size_t count) {
    std::string line(lead);
    for (std::size_t i = 0; i < count; ++i) line += "  " + facts[i];
    if (count < facts.size()) return line + fmt::format("  +{} more", facts.size() - count);
    return line.append(tail);
  };
  std::string line = line_of(facts.size());
  if (width <= 0 || columns_of(line) <= width) return line;
  for (std::size_t count = facts.size(); count > 0;) {
    line = line_of(--count);
    if (count > 0 && columns_of(line) <= width) return line;
  }
  // Not even one fact fits. The first fact is more useful than the count and an aligned lead. It is
  // not cut, because a cut number is another number.
  const std::string first = fmt::format("{} {}", words_of(lead), facts.empty() ? "" : facts[0]);
  return clipped(columns_of(first) <= width ? first : words_of(lead), width);
}

}  // namespace trivet
