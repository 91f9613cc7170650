// SPDX-License-Identifier: Apache-2.0
#include "trivet/config/quantity.h"

#include <algorithm>
#include <iterator>

#include "trivet/config/bytes.h"
#include "trivet/config/duration.h"
#include "trivet/config/integer_range.h"
#include "trivet/config/interval.h"
#include "trivet/error.h"

namespace trivet {
namespace {

std::optional<double> seconds(const Value& value) {
  if (value.is_float() || value.is_integer()) return value.as_float();
  if (!value.is_string()) return std::nullopt;
  const std::optional<Duration> duration = parse_duration(value.as_string());
  return duration ? std::optional(duration->seconds) : std::nullopt;
}

std::optional<double> steps_or_seconds(const Value& value) {
  if (value.is_integer()) return static_cast<double>(value.as_integer());
  return value.is_string() ? seconds(value) : std::nullopt;
}

std::optional<double> bytes(const Value& value) {
  if (value.is_integer()) return static_cast<double>(value.as_integer());
  if (!value.is_string()) return std::nullopt;
  const std::optional<Bytes> amount = parse_bytes(value.as_string());
  return amount ? std::optional(static_cast<double>(amount->count)) : std::nullopt;
}

// Both ends must keep the bounds of a field: that of them which is nearer to breaking one.
std::optional<double> outer_end(const Value& value) {
  if (value.is_integer()) return static_cast<double>(value.as_integer());
  if (!value.is_string()) return std::nullopt;
  const std::optional<IntegerRange> range = parse_integer_range(value.as_string());
  if (!range) return std::nullopt;
  return static_cast<double>(std::min(range->first, range->last) < 1
                                 ? std::min(range->first, range->last)
                                 : std::max(range->first, range->last));
}

constexpr Quantity kQuantities[] = {
    {.name = "duration",
     .expected = "a duration such as \"90s\" or \"1h30m\", or a number of seconds",
     .amount = seconds,
     .as_written = [](const Value& number) { return number; }},
    {.name = "interval",
     .expected = "a number of steps, or a time such as \"90s\" or \"10m\"",
     .amount = steps_or_seconds,
     .as_written =
         [](const Value& number) {
           if (number.is_integer()) return number;
           return detail::FieldTraits<Interval>::write(Interval(Duration(number.as_float())));
         },
     .is_whole = true,
     .not_positive = "must be more than no time"},
    {.name = "bytes",
     .expected = "a number of bytes, or a text such as \"16GiB\" or \"500MB\"",
     .amount = bytes,
     .as_written =
         [](const Value& number) {
           return detail::FieldTraits<Bytes>::write(Bytes(number.as_integer()));
         },
     .is_whole = true},
    {.name = "range",
     .expected = "a whole number, or a range such as \"1..8\"",
     .amount = outer_end,
     .as_written = [](const Value& range) { return range; },
     .is_whole = true,
     .has_text_defaults = true},
};

}  // namespace

const Quantity* find_quantity(std::string_view name) {
  const auto* found = std::ranges::find(kQuantities, name, &Quantity::name);
  return found != std::end(kQuantities) ? found : nullptr;
}

const Quantity& quantity_of(const FieldType& type) {
  const Quantity* found = find_quantity(type.quantity);
  if (found == nullptr) throw Error("there is no quantity '" + type.quantity + "'");
  return *found;
}

}  // namespace trivet
