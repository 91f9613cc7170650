// SPDX-License-Identifier: Apache-2.0
#include "trivet/os/environment.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace trivet {

std::optional<int> environment_number(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits = text;
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 0) {
    return std::nullopt;
  }
  return number;
}

}  // namespace trivet
