// SPDX-License-Identifier: Apache-2.0
#include "trivet/text/utf8.h"

#include <algorithm>
#include <array>

namespace trivet {
namespace {

// Length of the well-formed sequence at the front of `text`, 0 when there is none.
std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second > 0x9F;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && second < 0x90;
    const bool above = first == 0xF4 && second > 0x8F;
    return follows(1) && follows(2) && follows(3) && !overlong && !above ? 4 : 0;
  }
  return 0;
}

// Whether `text`, which lacks its end, begins a well-formed sequence: some bytes complete it. The
// bounds of a second byte are all within 0x80 ... 0xBF, and one of the two ends is within any.
bool may_become_utf8(std::string_view text) noexcept {
  for (const char filler : {'\x80', '\xBF'}) {
    std::array<char, 4> whole{};
    whole.fill(filler);
    text.copy(whole.data(), whole.size());
    if (utf8_length({whole.data(), whole.size()}) > text.size()) return true;
  }
  return false;
}

}  // namespace

std::optional<std::size_t> find_invalid_utf8(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

CodePoint first_code_point(std::string_view text) noexcept {
  CodePoint result{0, text.empty() ? 0 : utf8_length(text)};
  if (result.length == 0) return result;
  // The first byte of a sequence of n bytes has n + 1 bits that are no part of the number.
  const auto first = static_cast<unsigned char>(text[0]);
  result.value = result.length == 1 ? first : first & (0xFFu >> (result.length + 1));
  for (std::size_t i = 1; i < result.length; ++i) {
    result.value = result.value << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  }
  return result;
}

std::size_t incomplete_utf8(std::string_view text) noexcept {
  const std::size_t last = text.size() - std::min<std::size_t>(text.size(), 3);
  for (std::size_t at = text.size(); at-- > last;) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80u) continue;
    return may_become_utf8(text.substr(at)) ? at : text.size();
  }
  return text.size();
}

void append_utf8(char32_t character, std::string& text) {
  const auto add = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (character < 0x80) {
    add(character);
    return;
  }
  if (character < 0x800) {
    add(0xC0u | character >> 6);
  } else {
    if (character < 0x10000) {
      add(0xE0u | character >> 12);
    } else {
      add(0xF0u | character >> 18);
      add(0x80u | (character >> 12 & 0x3Fu));
    }
    add(0x80u | (character >> 6 & 0x3Fu));
  }
  add(0x80u | (character & 0x3Fu));
}

}  // namespace trivet
