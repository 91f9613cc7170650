// SPDX-License-Identifier: Apache-2.0
#include "trivet/text/strings.h"

#include <algorithm>

namespace trivet {

std::string_view trim(std::string_view text, std::string_view blanks) noexcept {
  const std::size_t first = std::min(text.find_first_not_of(blanks), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string noun_for(std::int64_t count, std::string_view noun, std::string_view plural) {
  if (count == 1) return std::string(noun);
  return plural.empty() ? std::string(noun) + "s" : std::string(plural);
}

std::string count_of(std::int64_t count, std::string_view noun, std::string_view plural) {
  return std::to_string(count) + " " + noun_for(count, noun, plural);
}

}  // namespace trivet
