// SPDX-License-Identifier: Apache-2.0
// tokenizers/Bpe: GPT-2's byte-level byte pair encoding (Radford et al. 2019). Reads
// tokenizer.json, or vocab.json and merges.txt. Ids equal those of the tools for these files.
//
//   tokenizer = { type = "tokenizers/Bpe", file = "tokenizer.json" }
//
// Added tokens in the text ("<|endoftext|>") become their ids, the leftmost and longest first. The
// text between them is cut into words (gpt2_pre_tokenizer.h), and the bytes of a word are merged
// (bpe_merges.h). All bytes come back, whether they are UTF-8 or not, with two exceptions that a
// file may ask for: "add_prefix_space" puts a space before every piece of text that begins with
// none, and a byte that is no token becomes the unknown one. Without an unknown one encode() throws
// InputError for such a byte.
#pragma once

#include <memory>

#include "tokenizers/bpe/added_tokens.h"
#include "tokenizers/bpe/bpe_merges.h"
#include "tokenizers/bpe/bpe_vocabulary.h"
#include "tokenizers/text/special_ids.h"
#include "tokenizers/text/word_cache.h"
#include "trivet/tokenizer.h"

namespace trivet::tokenizers {

struct BpeConfig : SpecialTokensConfig {
  Path file;
  Path vocab;
  Path merges;
  std::optional<std::vector<std::string>> special_tokens;
  bool match_special_tokens = true;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(BpeConfig, SpecialTokensConfig,
              (file,
               "A tokenizer.json of the Hugging Face libraries, instead of vocab and merges."),
              (vocab, "GPT-2's vocab.json (encoder.json)."),
              (merges, "GPT-2's merges.txt (vocab.bpe)."),
              (special_tokens,
               "Tokens of vocab that are not text. Default: <|endoftext|>, if the vocabulary has "
               "it. tokenizer.json lists its own."),
              (match_special_tokens,
               "Turns the spelling of a special token in a text into that token. If false, it is "
               "plain text."))

class Bpe final : public Tokenizer {
 public:
  using Config = BpeConfig;
  explicit Bpe(const Config& config);
  // The vocabulary must pass check_vocabulary().
  Bpe(BpeVocabulary vocabulary, const Config& config);

  std::int32_t vocabulary_size() const override;
  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::string token_text(std::int32_t id) const override;
  std::optional<std::int32_t> token_id(std::string_view text) const override;
  bool is_special(std::int32_t id) const override;
  std::optional<std::int32_t> bos_id() const override { return ids_.bos; }
  std::optional<std::int32_t> eos_id() const override { return ids_.eos; }
  std::optional<std::int32_t> pad_id() const override { return ids_.pad; }
  std::optional<std::int32_t> unknown_id() const override { return vocabulary_.unknown; }
  std::string fingerprint() const override;
  std::optional<std::string> tokenizer_json() const override;
  ConfigOf<Tokenizer> store(const std::filesystem::path& folder) const override;

 private:
  void encode_piece(std::string_view text, std::vector<std::int32_t>& ids) const;
  void encode_word(std::string_view word, std::vector<std::int32_t>& ids) const;
  std::optional<std::int32_t> added_id(std::string_view content) const;

  BpeVocabulary vocabulary_;
  bool match_special_tokens_;
  TokenIds tokens_;
  BpeMerges merges_;
  AddedTokens matched_;
  SpecialIds ids_;
  mutable WordCache cache_;
};

}  // namespace trivet::tokenizers
