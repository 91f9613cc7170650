// SPDX-License-Identifier: Apache-2.0
// Files of the forms that models in use have, with small vocabularies that are learned from texts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "trivet/tokenizer.h"

namespace trivet::test {

// Texts to learn from: the licenses' beginnings and odd texts.
const std::vector<std::string>& learned_texts();

// An added token as files have it.
nlohmann::json added_token(std::int64_t id, const std::string& content, bool special = true);

// Byte-level BPE with this pre-tokenizer and added tokens <s> and </s>.
nlohmann::json byte_level_file(const nlohmann::json& pre_tokenizer,
                               const nlohmann::json& normalizer = nullptr);
// {"type": "Sequence"} of a Split by a regular expression and ByteLevel without one.
nlohmann::json split_then_bytes(const std::string& regex, const std::string& behavior = "Isolated",
                                bool invert = false);

// The expressions of Llama 3, GPT-4 (cl100k_base), GPT-4o (o200k_base) and Qwen 2, as their files
// have them.
extern const char* const kLlama3Regex;
extern const char* const kGpt4Regex;
extern const char* const kGpt4oRegex;
extern const char* const kQwen2Regex;

// BERT's form.
nlohmann::json word_piece_file(bool lowercase = true);
// T5's or Llama's form with a unigram model.
nlohmann::json unigram_file(bool byte_fallback);
// Llama 2's form: BPE over characters with byte_fallback.
nlohmann::json character_bpe_file();

std::unique_ptr<Tokenizer> hugging_face(const nlohmann::json& file);

}  // namespace trivet::test
