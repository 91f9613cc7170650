// SPDX-License-Identifier: Apache-2.0
// For messages.
#pragma once

#include <string>
#include <string_view>

namespace trivet {

// "a layer", "an input".
inline std::string with_article(std::string_view noun) {
  const bool vowel = !noun.empty() && std::string_view("aeiou").find(noun[0]) != noun.npos;
  return (vowel ? "an " : "a ") + std::string(noun);
}

}  // namespace trivet
