// SPDX-License-Identifier: Apache-2.0
// The parts of a byte-level BPE tokenizer, read from files or trained.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace trivet::tokenizers {

// A token that is matched in text before the text is split into words.
struct AddedToken {
  std::int32_t id = 0;
  std::string content{};
  bool special = true;  // not text, but a marker such as the end of a text
};

struct BpeVocabulary {
  std::vector<std::string> tokens{};  // by id, as bytes; the content for added tokens
  // Pairs of ids in the order of merging. Their concatenated bytes are a token, too.
  std::vector<std::pair<std::int32_t, std::int32_t>> merges{};
  std::vector<AddedToken> added{};        // by id
  std::optional<std::int32_t> unknown{};  // for bytes without a token
  bool split_words = true;                // by GPT-2's rule; else the text is one word
  bool add_prefix_space = false;          // to a text that does not start with one
  bool ignore_merges = false;             // a word that is a token is that token
};

// Finds tokens by their bytes. If an added token and a merged token have the same bytes, finds the
// merged one.
class TokenIds {
 public:
  explicit TokenIds(const BpeVocabulary& vocabulary);
  std::optional<std::int32_t> find(const std::string& bytes) const;

 private:
  std::unordered_map<std::string, std::int32_t> ids_;
};

// Throws InputError, which starts with `source`, unless the ids of added tokens match their
// contents, merges make tokens, and no merge occurs twice. The ids in merges must be in range.
void check_vocabulary(const BpeVocabulary& vocabulary, const std::string& source);

// A token for messages: quoted, and written as in files.
std::string shown_token(const std::string& bytes);

}  // namespace trivet::tokenizers
