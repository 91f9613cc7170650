// SPDX-License-Identifier: Apache-2.0
#include "trivet/config/interval.h"

#include <charconv>
#include <iterator>
#include <string>

namespace trivet::detail {

Interval FieldTraits<Interval>::read(const Value& value) {
  if (!value.is_string()) return value.as_integer();
  return parse_duration(value.as_string()).value_or(Duration());
}

Value FieldTraits<Interval>::write(const Interval& interval) {
  if (!interval.is_time()) return interval.steps;
  const double seconds = interval.time.seconds;
  const std::string text = to_string(interval.time);
  if (const auto same = parse_duration(text); same && same->seconds == seconds) return text;
  char digits[400];
  const auto end =
      std::to_chars(std::begin(digits), std::end(digits), seconds, std::chars_format::fixed).ptr;
  return std::string(digits, end) + "s";
}

}  // namespace trivet::detail
