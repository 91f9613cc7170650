// SPDX-License-Identifier: Apache-2.0
// Builds a byte-level BPE vocabulary from the contents of files and checks it: first all tokens,
// then all added tokens, then finish_tokens(), then merges. All functions throw InputError, which
// starts with the name of the source.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "tokenizers/bpe/bpe_vocabulary.h"

namespace trivet::tokenizers {

class BpeBuilder {
 public:
  explicit BpeBuilder(std::string source) : source_(std::move(source)) {}

  // Adds a token, written in the characters of byte_characters.h.
  void add_token(const std::string& characters, std::int64_t id);
  // May be one of the tokens so far, with its id.
  void add_added(AddedToken token);
  // The ids must be 0, 1, 2, ... without a gap.
  void finish_tokens();
  // Adds the next merge; both must be tokens.
  void add_merge(const std::string& left, const std::string& right);

  // For fields of the vocabulary that need no check.
  BpeVocabulary& vocabulary() { return vocabulary_; }
  // Returns the id of a token, written as in files.
  std::optional<std::int32_t> find(const std::string& characters) const;

  BpeVocabulary finish();

 private:
  std::int32_t merge_part(const std::string& characters) const;

  std::string source_;
  std::map<std::int32_t, std::string> by_id_;  // written as in files
  std::unordered_map<std::string, std::int32_t> ids_;
  BpeVocabulary vocabulary_;
};

}  // namespace trivet::tokenizers
