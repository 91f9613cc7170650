// SPDX-License-Identifier: Apache-2.0
//
// What the values of a config mean as members of a struct.
#include <charconv>
#include <iterator>

#include "trivet/config/schema.h"
#include "trivet/detail/codec.h"

namespace trivet {
namespace detail {

bool is_none(const Value& value) noexcept {
  return value.is_text() && value.as_text() == "none";
}

Duration duration_of(const Value& value) {
  if (!value.is_text()) return value.as_number();
  return parse_duration(value.as_text()).value_or(Duration());
}

Interval interval_of(const Value& value) {
  if (!value.is_text()) return value.as_integer();
  return parse_duration(value.as_text()).value_or(Duration());
}

Value value_of(const Interval& interval) {
  if (!interval.is_time()) return interval.steps;
  const double seconds = interval.time.seconds;
  const std::string text = to_string(interval.time);
  if (const auto same = parse_duration(text); same && same->seconds == seconds) return text;
  char digits[400];
  const auto end =
      std::to_chars(std::begin(digits), std::end(digits), seconds, std::chars_format::fixed).ptr;
  return std::string(digits, end) + "s";
}

const Value* find_field(const Value& table, const Field& field) noexcept {
  if (const Value* value = table.find(field.name)) return value;
  for (const std::string& alias : field.aliases) {
    if (const Value* value = table.find(alias)) return value;
  }
  return nullptr;
}

}  // namespace detail

}  // namespace trivet
