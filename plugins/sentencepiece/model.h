// SPDX-License-Identifier: Apache-2.0
// sentencepiece/Model: a model of Google's SentencePiece, run by its library: unigram, BPE, word or
// character, as the file defines.
//
//   tokenizer = { type = "sentencepiece/Model", file = "spm.model" }
//
// Exceptions to the contract of tokenizers (trivet/tokenizer.h):
// - decode(encode(text)) is the text as the model normalizes it. Most models apply NFKC, merge
// blanks
//   and strip those at the ends. Text without a piece, such as invalid UTF-8, becomes " U+2047 " or
//   U+FFFD. Models trained with byte_fallback, normalization_rule_name=identity and
//   remove_extra_whitespaces=false restore all UTF-8 text.
// - decode() drops control tokens such as <s> and </s>; token_text() returns their names.
// - token_text() of a piece includes its blank ("\u2581the" is " the"); decode() drops the first
//   blank of a text.
#pragma once

#include <sentencepiece_processor.h>

#include "trivet/tokenizer.h"

namespace trivet::sentencepieces {

struct ModelConfig : TokenizerConfig {
  Path file;
};
TRIVET_CONFIG(ModelConfig, trivet::TokenizerConfig,
              (file, "The .model file that spm_train writes.", required))

class Model final : public Tokenizer {
 public:
  using Config = ModelConfig;
  // Throws InputError if the file is not a model.
  explicit Model(const Config& config);

  std::int32_t vocabulary_size() const override;
  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::string token_text(std::int32_t id) const override;
  bool is_special(std::int32_t id) const override;
  std::optional<std::int32_t> bos_id() const override;
  std::optional<std::int32_t> eos_id() const override;
  std::optional<std::int32_t> pad_id() const override;
  std::optional<std::int32_t> unknown_id() const override;
  std::string fingerprint() const override { return fingerprint_; }
  ConfigOf<Tokenizer> store(const std::filesystem::path& folder) const override;

 private:
  ::sentencepiece::SentencePieceProcessor model_;
  std::string file_;  // its bytes
  std::string fingerprint_;
};

}  // namespace trivet::sentencepieces
