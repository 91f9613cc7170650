// SPDX-License-Identifier: Apache-2.0
// What a byte-level BPE tokenizer consists of, however it was read or made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace trivet::tokenizers {

// A token that is found in text before the text is cut into words.
struct AddedToken {
  std::int32_t id = 0;
  std::string content{};
  bool special = true;  // no text, but a mark such as the end of a text
};

struct BpeVocabulary {
  std::vector<std::string> tokens{};  // by id, as bytes; of added tokens the content
  // Pairs of ids in the order in which they are merged; their bytes in a row are a token, too.
  std::vector<std::pair<std::int32_t, std::int32_t>> merges{};
  std::vector<AddedToken> added{};        // by id
  std::optional<std::int32_t> unknown{};  // for bytes that are no token
  bool split_words = true;                // by GPT-2's rule; else the text is one word
  bool add_prefix_space = false;          // to a text that does not begin with one
  bool ignore_merges = false;             // a word that is a token is that token
};

// Tokens by their bytes. Where an added token has the bytes of one that merges make, the latter.
class TokenIds {
 public:
  explicit TokenIds(const BpeVocabulary& vocabulary);
  std::optional<std::int32_t> find(const std::string& bytes) const;

 private:
  std::unordered_map<std::string, std::int32_t> ids_;
};

// Throws InputError, which begins with `source`, unless the ids of added tokens are those of their
// contents, merges make tokens, and no merge comes twice. The ids in merges must be in range.
void check_vocabulary(const BpeVocabulary& vocabulary, const std::string& source);

// What a message calls a token: quoted, and as it stands in files.
std::string shown_token(const std::string& bytes);

}  // namespace trivet::tokenizers
