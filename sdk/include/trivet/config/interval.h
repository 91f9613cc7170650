// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "trivet/base/export.h"
#include "trivet/config/detail/field_traits.h"
#include "trivet/config/duration.h"

namespace trivet {

// How often something happens: every so many steps, or after so much time. In TOML an integer
// (steps) or a text such as "10m". Zero of both: never.
struct Interval {
  std::int64_t steps = 0;
  Duration time{};

  constexpr Interval() = default;
  constexpr Interval(std::int64_t n) : steps(n) {}
  constexpr Interval(Duration span) : time(span) {}
  constexpr bool is_time() const noexcept { return time.seconds > 0; }
  friend constexpr bool operator==(const Interval&, const Interval&) = default;
};

namespace detail {

template <>
struct FieldTraits<Interval> {
  static constexpr std::string_view kForm = "interval";
  static constexpr bool kHasBounds = true;
  template <class Sink>
  static constexpr void write_json(Sink& out, const Interval& value) {
    // An integer for steps, the bits of a number for seconds.
    value.is_time() ? json_double(out, value.time.seconds) : json_integer(out, value.steps);
  }
  static TRIVET_API Interval read(const Value& value);
  // A number of steps, or the text of the time.
  static TRIVET_API Value write(const Interval& value);
};

}  // namespace detail

}  // namespace trivet
