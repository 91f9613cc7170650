// SPDX-License-Identifier: Apache-2.0
// The added tokens of a tokenizer.json, which are found in a text before it is split: the leftmost
// one; of several at one position the longest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/bpe/added_tokens.h"
#include "tokenizers/text/json_part.h"

namespace trivet::tokenizers {

struct AddedTokenRule {
  std::int32_t id = 0;
  std::string content{};
  bool special = false;
  bool single_word = false;  // found only without letters, numbers and marks next to it
  bool lstrip = false;       // with the blanks before it
  bool rstrip = false;       // with the blanks after it
  bool normalized = false;   // found in the normalized text; else before that
};

// Reads "added_tokens", which may be null. Throws InputError.
std::vector<AddedTokenRule> read_added_tokens(const JsonPart& part);

class AddedVocabulary {
 public:
  AddedVocabulary() : AddedVocabulary(std::vector<AddedTokenRule>()) {}
  // Rules with empty content find nothing.
  explicit AddedVocabulary(std::vector<AddedTokenRule> rules);

  struct Section {
    std::size_t begin, end;
    std::optional<std::int32_t> id{};  // of an added token; else it is text
  };
  // The parts of a text, in order and without gaps. [any-thread]
  std::vector<Section> sections(std::string_view text) const;

 private:
  std::vector<AddedTokenRule> rules_;
  AddedTokens found_;  // with indices into rules_ as ids
};

}  // namespace trivet::tokenizers
