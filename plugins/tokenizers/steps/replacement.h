// SPDX-License-Identifier: Apache-2.0
// The "pattern" of tokenizer.json, {"String": text} or {"Regex": regular expression}, and what puts
// another text in the place of its matches.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "tokenizers/text/json_part.h"
#include "tokenizers/text/regex.h"

namespace trivet::tokenizers {

class Pattern {
 public:
  explicit Pattern(const JsonPart& part);
  // Calls visit for all matches from left to right.
  void for_each(std::string_view text, const std::function<void(Regex::Match)>& visit) const;

 private:
  std::string literal_;
  std::optional<Regex> regex_;
};

// {"pattern", "content"}
class Replacement {
 public:
  explicit Replacement(const JsonPart& part);
  std::string apply(std::string text) const;

 private:
  std::string place_;
  Pattern pattern_;
  std::string content_;
};

}  // namespace trivet::tokenizers
