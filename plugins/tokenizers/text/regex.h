// SPDX-License-Identifier: Apache-2.0
// A regular expression of a tokenizer.json, run by PCRE2 on UTF-8 with Unicode's classes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace trivet::tokenizers {

class Regex {
 public:
  // Throws InputError, which starts with `place`, for a pattern that is longer than 64 KiB, not
  // well-formed or not supported.
  Regex(const std::string& pattern, std::string place);

  struct Match {
    std::size_t begin, end;
  };
  // Calls visit for all matches from left to right. An empty match directly after another does not
  // count. `text` must be well-formed UTF-8. Throws InputError if a match takes more than ten
  // million steps. [any-thread]
  void for_each(std::string_view text, const std::function<void(Match)>& visit) const;

 private:
  std::optional<Match> find(std::string_view text, std::size_t from, void* data) const;

  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
  std::string place_;
};

}  // namespace trivet::tokenizers
