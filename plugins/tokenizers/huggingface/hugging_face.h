// SPDX-License-Identifier: Apache-2.0
// tokenizers/HuggingFace: a tokenizer.json of the Hugging Face libraries: byte-level and character
// BPE (GPT-2, Llama, Qwen), WordPiece (BERT), Unigram (SentencePiece) and whole words.
//
//   tokenizer = { type = "tokenizers/HuggingFace", file = "tokenizer.json" }
//
// Added tokens in the text become their ids. The text between them is normalized, cut by the
// pre-tokenizer, and the model makes tokens of the pieces. Ids equal those of the library without
// special tokens. A part or field of the file that is not supported is an InputError, which names
// its place. The parts that put special tokens around the ids of a text are checked and not
// applied.
//
// Exceptions to the contract of tokenizers (trivet/tokenizer.h):
// - decode(encode(text)) is the text for byte-level BPE without normalizer, blanks next to added
//   tokens with lstrip or rstrip aside. Other kinds return the text as they normalize and split it.
// - Bytes that are not UTF-8 are pieces of their own. Byte-level BPE and byte_fallback restore
// them;
//   for other models each run of them is the unknown token.
// - encode() throws InputError for text without a token if there is no unknown token, and if a
//   regular expression of the file takes too long.
// - token_text() is the text of a token in the middle of others: " the" of "▁the", "ing" of
// "##ing".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tokenizers/huggingface/added_vocabulary.h"
#include "tokenizers/models/token_model.h"
#include "tokenizers/steps/decoder.h"
#include "tokenizers/steps/normalizer.h"
#include "tokenizers/steps/pre_tokenizer.h"
#include "tokenizers/text/special_ids.h"
#include "tokenizers/text/word_cache.h"
#include "trivet/tokenizer.h"

namespace trivet::tokenizers {

struct HuggingFaceConfig : SpecialTokensConfig {
  Path file;
  bool match_special_tokens = true;
};
TRIVET_CONFIG(HuggingFaceConfig, SpecialTokensConfig,
              (file, "A tokenizer.json of the Hugging Face libraries.", required),
              (match_special_tokens,
               "Turns the spelling of a special token in a text into that token. If false, it is "
               "plain text."))

class HuggingFace : public Tokenizer {
 public:
  using Config = HuggingFaceConfig;
  explicit HuggingFace(const Config& config);
  // `json` is the text of the file.
  HuggingFace(std::string json, const Config& config);

  std::int32_t vocabulary_size() const override;
  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::string token_text(std::int32_t id) const override;
  std::optional<std::int32_t> token_id(std::string_view text) const override;
  bool is_special(std::int32_t id) const override;
  std::optional<std::int32_t> bos_id() const override { return ids_.bos; }
  std::optional<std::int32_t> eos_id() const override { return ids_.eos; }
  std::optional<std::int32_t> pad_id() const override { return ids_.pad; }
  std::optional<std::int32_t> unknown_id() const override { return model_->unknown(); }
  std::string fingerprint() const override { return fingerprint_; }
  std::optional<std::string> tokenizer_json() const override { return json_; }
  ConfigOf<Tokenizer> store(const std::filesystem::path& folder) const override;

 private:
  enum class Kind : char { model, added, special };
  struct Token {
    std::string text;  // as in the file
    Kind kind = Kind::model;
  };

  void read_tokens(const JsonPart& part, const std::vector<AddedTokenRule>& added);
  void encode_section(std::string_view text, bool at_start, std::vector<std::int32_t>& ids) const;
  void encode_text(std::string text, bool at_start, std::vector<std::int32_t>& ids) const;
  void encode_piece(Piece piece, std::vector<std::int32_t>& ids) const;
  std::string join(std::vector<DecodedToken> tokens) const;
  DecodedToken token(std::int32_t id) const;
  std::optional<std::int32_t> special_id(const std::string& content) const;

  std::string json_;
  bool match_special_tokens_;
  std::unique_ptr<Normalizer> normalizer_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  std::unique_ptr<TokenModel> model_;
  std::unique_ptr<Decoder> decoder_;                       // null: blanks between tokens
  std::vector<Token> tokens_;                              // by id
  std::unordered_map<std::string, std::int32_t> by_text_;  // see token_id()
  AddedVocabulary before_, after_;                         // normalization
  SpecialIds ids_;
  std::string fingerprint_;
  mutable WordCache cache_;
};

}  // namespace trivet::tokenizers
