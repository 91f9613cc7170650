// SPDX-License-Identifier: Apache-2.0
#include "cli/option_number.h"

#include <charconv>
#include <string>

#include <fmt/core.h>

#include "trivet/error.h"

namespace trivet {

std::optional<std::int64_t> option_number(const Arguments& arguments, std::string_view option,
                                          std::int64_t least, std::int64_t most) {
  const std::string* const text = arguments.last(option);
  if (text == nullptr) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error == std::errc() && stop == end && number >= least && number <= most) return number;
  const std::string range = most == std::numeric_limits<std::int64_t>::max()
                                ? fmt::format("of at least {}", least)
                                : fmt::format("from {} to {}", least, most);
  throw UsageError(fmt::format("--{} takes a number {}, not '{}'", option, range, *text));
}

}  // namespace trivet
