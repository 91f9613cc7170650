// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "tokenizers/bpe/tokenizer_json.h"
#include "tokenizers/text/byte_characters.h"

namespace trivet::tokenizers {
namespace {

std::string quote(const std::string& text) {
  return nlohmann::json(text).dump();
}

// Puts each item on its own line, between `open` and `close`.
std::string lines(const std::vector<std::string>& items, const char* open, const char* close,
                  int indent) {
  if (items.empty()) return std::string(open) + close;
  const std::string blanks(static_cast<std::size_t>(indent), ' ');
  std::string text = open;
  for (std::size_t i = 0; i < items.size(); ++i) {
    text += (i == 0 ? "\n" : ",\n") + blanks + "  " + items[i];
  }
  return text + "\n" + blanks + close;
}

class Writer {
 public:
  explicit Writer(const BpeVocabulary& vocabulary) : vocabulary_(vocabulary) {
    for (const std::string& token : vocabulary.tokens) names_.push_back(characters_of_bytes(token));
    for (const AddedToken& token : vocabulary.added) {
      names_[static_cast<std::size_t>(token.id)] = token.content;
    }
  }

  std::string text() const {
    // The fields that the library writes for GPT-2. Only the two in "pre_tokenizer" affect ids.
    return fmt::format(
        R"({{
  "version": "1.0",
  "truncation": null,
  "padding": null,
  "added_tokens": {},
  "normalizer": null,
  "pre_tokenizer": {{
    "type": "ByteLevel",
    "add_prefix_space": {},
    "trim_offsets": true,
    "use_regex": {}
  }},
  "post_processor": {{
    "type": "ByteLevel",
    "add_prefix_space": true,
    "trim_offsets": false,
    "use_regex": true
  }},
  "decoder": {{
    "type": "ByteLevel",
    "add_prefix_space": true,
    "trim_offsets": true,
    "use_regex": true
  }},
  "model": {{
    "type": "BPE",
    "dropout": null,
    "unk_token": {},
    "continuing_subword_prefix": null,
    "end_of_word_suffix": null,
    "fuse_unk": false,
    "byte_fallback": false,
    "ignore_merges": {},
    "vocab": {},
    "merges": {}
  }}
}}
)",
        lines(added(), "[", "]", 2), vocabulary_.add_prefix_space, vocabulary_.split_words,
        vocabulary_.unknown ? quote(name(*vocabulary_.unknown)) : "null", vocabulary_.ignore_merges,
        lines(tokens(), "{", "}", 4), lines(merges(), "[", "]", 4));
  }

 private:
  const std::string& name(std::int32_t id) const { return names_[static_cast<std::size_t>(id)]; }

  std::vector<std::string> added() const {
    std::vector<std::string> items;
    for (const AddedToken& token : vocabulary_.added) {
      items.push_back(
          fmt::format(R"({{"id": {}, "content": {}, "single_word": false, "lstrip": false, )"
                      R"("rstrip": false, "normalized": {}, "special": {}}})",
                      token.id, quote(token.content), !token.special, token.special));
    }
    return items;
  }

  std::vector<std::string> tokens() const {
    std::vector<std::string> items;
    for (std::size_t id = 0; id < names_.size(); ++id) {
      items.push_back(fmt::format("{}: {}", quote(names_[id]), id));
    }
    return items;
  }

  std::vector<std::string> merges() const {
    std::vector<std::string> items;
    for (const auto& [left, right] : vocabulary_.merges) {
      // Only added tokens have a blank in their name.
      const bool blank = (name(left) + name(right)).find(' ') != std::string::npos;
      items.push_back(blank ? fmt::format("[{}, {}]", quote(name(left)), quote(name(right)))
                            : quote(name(left) + " " + name(right)));
    }
    return items;
  }

  const BpeVocabulary& vocabulary_;
  std::vector<std::string> names_;  // by id, written as in files
};

}  // namespace

std::string tokenizer_json_text(const BpeVocabulary& vocabulary) {
  return Writer(vocabulary).text();
}

}  // namespace trivet::tokenizers
