// SPDX-License-Identifier: Apache-2.0
#include "trivet/config/integer_range.h"

#include <charconv>
#include <system_error>

#include "trivet/text/strings.h"

namespace trivet {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  text = trim(text, " ");
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<IntegerRange> parse_integer_range(std::string_view text) {
  constexpr std::string_view kDots = "..";
  const std::size_t dots = text.find(kDots);
  const std::optional<std::int64_t> first = whole_number(text.substr(0, dots));
  if (!first || dots == std::string_view::npos) return first;
  const std::optional<std::int64_t> last = whole_number(text.substr(dots + kDots.size()));
  return last ? std::optional(IntegerRange(*first, *last)) : std::nullopt;
}

std::string to_string(IntegerRange range) {
  const std::string first = std::to_string(range.first);
  return range.is_number() ? first : first + ".." + std::to_string(range.last);
}

namespace detail {

IntegerRange FieldTraits<IntegerRange>::read(const Value& value) {
  if (!value.is_string()) return value.as_integer();
  return parse_integer_range(value.as_string()).value_or(IntegerRange());
}

Value FieldTraits<IntegerRange>::write(const IntegerRange& value) {
  if (value.is_number()) return value.first;
  return to_string(value);
}

}  // namespace detail
}  // namespace trivet
