// SPDX-License-Identifier: Apache-2.0
#include "launch/braces.h"

#include "trivet/error.h"

namespace trivet::launch {

std::string replace_braces(std::string_view text,
                           const std::function<std::string(const Placeholder&)>& value) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      out += c;
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == c) {
      out += c;
      ++i;
      continue;
    }
    const std::size_t end = c == '{' ? text.find_first_of("{}", i + 1) : std::string_view::npos;
    if (end == std::string_view::npos || text[end] != '}') {
      throw Error("a '" + std::string(1, c) + "' in '" + std::string(text) + "' has no partner",
                  {.hint = "write {{ and }} for braces"});
    }
    const std::string_view inside = text.substr(i + 1, end - i - 1);
    const std::size_t colon = inside.find(':');
    Placeholder placeholder{inside.substr(0, colon), {}};
    if (colon != std::string_view::npos) placeholder.format = inside.substr(colon + 1);
    out += value(placeholder);
    i = end;
  }
  return out;
}

}  // namespace trivet::launch
