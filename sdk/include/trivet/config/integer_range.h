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

// Whole numbers from `first` to `last`. In TOML a number or a text such as "1..8". A text may have
// its ends reversed ("8..1"), which holds no number: the config that has the field refuses it.
struct IntegerRange {
  std::int64_t first = 0, last = 0;

  constexpr IntegerRange() = default;
  constexpr IntegerRange(std::int64_t n) : first(n), last(n) {}
  constexpr IntegerRange(std::int64_t from, std::int64_t to) : first(from), last(to) {}
  constexpr bool is_number() const noexcept { return first == last; }
  constexpr bool contains(std::int64_t n) const noexcept { return first <= n && n <= last; }
  friend constexpr bool operator==(const IntegerRange&, const IntegerRange&) = default;
};

// "1..8" or "4"; nothing for any other text.
TRIVET_API std::optional<IntegerRange> parse_integer_range(std::string_view text);
TRIVET_API std::string to_string(IntegerRange range);

namespace detail {

template <>
struct FieldTraits<IntegerRange> {
  static constexpr std::string_view kForm = "range";
  static constexpr bool kHasBounds = true;
  template <class Sink>
  static constexpr void write_json(Sink& out, const IntegerRange& value) {
    if (!value.is_number()) out.raw("\"");
    json_integer(out, value.first);
    if (value.is_number()) return;
    out.raw("..");
    json_integer(out, value.last);
    out.raw("\"");
  }
  static TRIVET_API IntegerRange read(const Value& value);
  // A number, or the text of several.
  static TRIVET_API Value write(const IntegerRange& value);
};

}  // namespace detail

}  // namespace trivet
