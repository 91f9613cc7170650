// SPDX-License-Identifier: Apache-2.0
#include "trivet/config/duration.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

namespace trivet {
namespace {

struct TimeUnit {
  std::string_view name;
  double seconds;
};
// From large to small, the order in which they may follow each other.
constexpr TimeUnit kTimeUnits[] = {{"d", 86400}, {"h", 3600},  {"m", 60},
                                   {"s", 1},     {"ms", 1e-3}, {"us", 1e-6}};
constexpr std::size_t kTimeUnitCount = std::size(kTimeUnits);

std::size_t unit_of(std::string_view name) {
  std::size_t i = 0;
  while (i < kTimeUnitCount && kTimeUnits[i].name != name) ++i;
  return i;
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  double total = 0;
  std::size_t next_unit = 0;
  while (!text.empty()) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    double amount = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + digits, amount, std::chars_format::fixed);
    if (error != std::errc{} || end != text.data() + digits) return std::nullopt;
    text.remove_prefix(digits);
    const std::size_t letters = std::min(text.find_first_of("0123456789."), text.size());
    const std::size_t unit = unit_of(text.substr(0, letters));
    if (unit < next_unit || unit == kTimeUnitCount) return std::nullopt;
    // Milli and micro are divisions: 250 / 1000 is the nearest double to 0.25, 250 * 0.001 need not
    // be.
    const double seconds = kTimeUnits[unit].seconds;
    total += seconds < 1 ? amount / std::round(1 / seconds) : amount * seconds;
    next_unit = unit + 1;
    text.remove_prefix(letters);
  }
  return Duration(negative ? -total : total);
}

std::string to_string(Duration duration) {
  if (!std::isfinite(duration.seconds) || std::fabs(duration.seconds) > 1e12) {
    return std::to_string(duration.seconds) + "s";
  }
  auto rest = static_cast<long long>(std::llround(std::fabs(duration.seconds) * 1000));
  if (rest == 0) return "0s";
  std::string text = duration.seconds < 0 ? "-" : "";
  for (std::size_t i = 0; i < unit_of("us"); ++i) {
    const auto size = static_cast<long long>(std::llround(kTimeUnits[i].seconds * 1000));
    if (rest / size > 0) text += std::to_string(rest / size) + std::string(kTimeUnits[i].name);
    rest %= size;
  }
  return text;
}

namespace detail {

Duration FieldTraits<Duration>::read(const Value& value) {
  if (!value.is_string()) return value.as_float();
  return parse_duration(value.as_string()).value_or(Duration());
}

}  // namespace detail
}  // namespace trivet
