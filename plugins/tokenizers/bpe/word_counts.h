// SPDX-License-Identifier: Apache-2.0
// How often each word of GPT-2's rule (gpt2_pre_tokenizer.h) comes in a corpus: all that training
// looks at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizers/bpe/added_tokens.h"

namespace trivet::tokenizers {

class WordCounts {
 public:
  // Text is cut at special tokens, and these are not counted. They must pass check_training() of
  // bpe_trainer.h.
  explicit WordCounts(const std::vector<std::string>& special_tokens);

  void add(std::string_view text);
  // Reads the file, compressed or not, in pieces cut between words. Throws InputError if it cannot
  // be read or is not text.
  void add_file(const std::filesystem::path& file);

  std::uint64_t bytes() const { return bytes_; }  // of all texts
  // Sorted by word.
  std::vector<std::pair<std::string, std::int64_t>> sorted() const;

 private:
  void add_piece(std::string_view text);

  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  AddedTokens special_;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> counts_;
  std::uint64_t bytes_ = 0;
};

}  // namespace trivet::tokenizers
