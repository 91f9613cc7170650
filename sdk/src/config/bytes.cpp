// SPDX-License-Identifier: Apache-2.0
#include "trivet/config/bytes.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "trivet/text/strings.h"

namespace trivet {
namespace {

constexpr std::int64_t kKibi = 1024;

struct ByteUnit {
  std::string_view name;
  std::int64_t bytes;
};
// Those that to_string() writes stand first, the largest first; the others are only read.
constexpr std::size_t kWritten = 8;
constexpr ByteUnit kByteUnits[] = {
    {"TiB", kKibi* kKibi* kKibi* kKibi},
    {"GiB", kKibi* kKibi* kKibi},
    {"MiB", kKibi* kKibi},
    {"KiB", kKibi},
    {"TB", 1000'000'000'000},
    {"GB", 1000'000'000},
    {"MB", 1000'000},
    {"kB", 1000},
    {"", 1},
    {"B", 1},
    {"KB", 1000},
    {"K", kKibi},
    {"M", kKibi* kKibi},
    {"G", kKibi* kKibi* kKibi},
    {"T", kKibi* kKibi* kKibi* kKibi},
};

}  // namespace

std::optional<Bytes> parse_bytes(std::string_view text) {
  text = trim(text, " ");
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || number < 0) return std::nullopt;
  const std::string_view name = trim(text.substr(static_cast<std::size_t>(end - text.data())), " ");
  for (const ByteUnit& unit : kByteUnits) {
    if (name != unit.name) continue;
    const double bytes = std::round(number * static_cast<double>(unit.bytes));
    if (!(bytes < static_cast<double>(std::numeric_limits<std::int64_t>::max()))) {
      return std::nullopt;
    }
    return Bytes(static_cast<std::int64_t>(bytes));
  }
  return std::nullopt;
}

std::string to_string(Bytes bytes) {
  for (std::size_t i = 0; i < kWritten && bytes.count != 0; ++i) {
    const ByteUnit& unit = kByteUnits[i];
    if (bytes.count % unit.bytes != 0) continue;
    return std::to_string(bytes.count / unit.bytes) + std::string(unit.name);
  }
  return std::to_string(bytes.count);
}

namespace detail {

Bytes FieldTraits<Bytes>::read(const Value& value) {
  if (!value.is_string()) return value.as_integer();
  return parse_bytes(value.as_string()).value_or(Bytes());
}

Value FieldTraits<Bytes>::write(const Bytes& value) {
  const std::string text = to_string(value);
  if (parse_bytes(text) != value || text.find_first_not_of("-0123456789") == std::string::npos) {
    return value.count;
  }
  return text;
}

}  // namespace detail
}  // namespace trivet
