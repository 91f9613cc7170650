// SPDX-License-Identifier: Apache-2.0
// JSON written by the compiler. Doubles are the 16 hexadecimal digits of their bits: exact, and
// there is no constexpr to_chars for them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trivet::detail {

// Two passes: one counts, one writes into an array of that size.
struct CountingSink {
  std::size_t size = 0;
  constexpr void put(char) { ++size; }
  constexpr void raw(std::string_view text) { size += text.size(); }
};

struct WritingSink {
  char* at;
  constexpr void put(char c) { *at++ = c; }
  constexpr void raw(std::string_view text) {
    for (const char c : text) *at++ = c;
  }
};

template <class Sink>
constexpr void json_text(Sink& out, std::string_view text) {
  out.put('"');
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.put('\\');
      out.put(c);
    } else if (code < 0x20) {
      out.raw("\\u00");
      out.put("0123456789abcdef"[code >> 4]);
      out.put("0123456789abcdef"[code & 15]);
    } else {
      out.put(c);
    }
  }
  out.put('"');
}

template <class Sink>
constexpr void json_integer(Sink& out, std::int64_t value) {
  char digits[20]{};
  std::size_t count = 0;
  auto rest = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  do {
    digits[count++] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (value < 0) out.put('-');
  while (count > 0) out.put(digits[--count]);
}

template <class Sink>
constexpr void json_double(Sink& out, double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  out.put('"');
  for (int shift = 60; shift >= 0; shift -= 4) out.put("0123456789abcdef"[(bits >> shift) & 15]);
  out.put('"');
}

}  // namespace trivet::detail
