// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trivet/base/export.h"
#include "trivet/config/detail/field_traits.h"

namespace trivet {

// An amount of memory or of data in bytes. In TOML a whole number of bytes or a text such as
// "16GiB", "500MB".
struct Bytes {
  std::int64_t count = 0;

  constexpr Bytes() = default;
  constexpr Bytes(std::int64_t n) : count(n) {}
  friend constexpr auto operator<=>(const Bytes&, const Bytes&) = default;
};

// "16GiB" = 2^34, "500MB" = 5e8, "4096" (bytes); units B, kB, MB, GB, TB, KiB, MiB, GiB, TiB, and
// K, M, G, T as Slurm has them, 2^10 and so on. Fractions are rounded to a byte. Nothing for any
// other text, or above 2^63 - 1.
TRIVET_API std::optional<Bytes> parse_bytes(std::string_view text);
// In the largest unit of which it is a whole number: "16GiB", "500MB", "1000001".
TRIVET_API std::string to_string(Bytes bytes);

namespace detail {

template <>
struct FieldTraits<Bytes> {
  static constexpr std::string_view kForm = "bytes";
  static constexpr bool kHasBounds = true;
  template <class Sink>
  static constexpr void write_json(Sink& out, const Bytes& value) {
    json_integer(out, value.count);
  }
  static TRIVET_API Bytes read(const Value& value);
  // The text with its unit, or a number where it has none.
  static TRIVET_API Value write(const Bytes& value);
};

}  // namespace detail

}  // namespace trivet
