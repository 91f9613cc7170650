// SPDX-License-Identifier: Apache-2.0
#include "base/format.h"

#include <cmath>
#include <iterator>

#include <fmt/core.h>

namespace trivet {

std::string format_duration(double seconds) {
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} m {:02} s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{} h {:02} m", whole / 3600, whole % 3600 / 60);
  return fmt::format("{} d {:02} h", whole / 86400, whole % 86400 / 3600);
}

std::string format_bytes(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "kB", "MB", "GB", "TB"};
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 999.5 && unit + 1 < std::size(kUnits); ++unit) amount /= 1000;
  return fmt::format("{:.{}f} {}", amount, amount < 9.95 ? 1 : 0, kUnits[unit]);
}

std::string format_rate(double per_second) {
  if (per_second < 9.95) return fmt::format("{:.1f}", per_second);
  if (per_second < 999.5) return fmt::format("{:.0f}", per_second);
  if (per_second < 999.5e3) return fmt::format("{:.1f}k", per_second / 1e3);
  return fmt::format("{:.1f}M", per_second / 1e6);
}

std::string format_count(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string format_number(double number) {
  if (!std::isfinite(number)) return fmt::format("{}", number);
  const double size = std::abs(number);
  if (size != 0 && (size < 1e-3 || size >= 1e5)) return fmt::format("{:.3e}", number);
  return fmt::format("{:.4f}", number);
}

}  // namespace trivet
