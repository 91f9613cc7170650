// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "trivet/base/export.h"
#include "trivet/config/detail/field_traits.h"

namespace trivet {

// A span of time in seconds. In TOML a number of seconds or a text such as "90s", "1h30m", "250ms",
// "1.5d".
struct Duration {
  double seconds = 0;

  constexpr Duration() = default;
  constexpr Duration(double s) : seconds(s) {}
  friend constexpr auto operator<=>(const Duration&, const Duration&) = default;
};

// Units d, h, m, s, ms, us, each at most once and in this order; a sign may precede them. Nothing
// for any other text.
TRIVET_API std::optional<Duration> parse_duration(std::string_view text);
// The shortest such text that reads back to the same number of milliseconds, e.g. "1h30m".
TRIVET_API std::string to_string(Duration duration);

namespace detail {

template <>
struct FieldTraits<Duration> {
  static constexpr std::string_view kForm = "duration";
  static constexpr bool kHasBounds = true;
  template <class Sink>
  static constexpr void write_json(Sink& out, const Duration& value) {
    json_double(out, value.seconds);
  }
  static TRIVET_API Duration read(const Value& value);
  static Value write(const Duration& value) { return value.seconds; }
};

}  // namespace detail

}  // namespace trivet
