// SPDX-License-Identifier: Apache-2.0
// Continues texts with a model: tokenizes, decodes, detokenizes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lm/decoding/decode_config.h"
#include "trivet/extensions/next_token.h"
#include "trivet/extensions/text_generator.h"
#include "trivet/tokenizer.h"

namespace trivet::lm {

struct Generation {
  const NextToken& model;
  Device& device;
  const Tokenizer& tokenizer;
  DecodeConfig config{};                     // before `options`
  std::optional<std::int32_t> bos{};         // before each prompt
  std::optional<std::int32_t> prompt_end{};  // after each prompt
  std::optional<std::int32_t> eos{};         // ends a continuation
  const NextToken* draft = nullptr;  // guesses tokens, see speculative_decoder.h; null: none
  const GenerateOptions& options;
};

// Returns `config` with the fields that `options` sets. Throws UsageError for invalid values and
// for options that beam search would ignore. Settings of samples do not apply to beam search.
DecodeConfig with_options(DecodeConfig config, const GenerateOptions& options);

// The Draw of a prompt; its number if `options` has none for it.
GenerateOptions::Draw draw_of(const GenerateOptions& options, std::size_t prompt);

// For messages: "line 3 of prompts.txt", "prompt 3" or, if all are samples of one, "the prompt".
std::string name_of_prompt(const GenerateOptions& options, std::size_t prompt, std::size_t prompts);

// The options of `count` prompts from `first` on.
GenerateOptions part_of(const GenerateOptions& options, std::size_t first, std::size_t count);

// See TextGenerator::generate.
std::vector<GeneratedText> generate(const Generation& generation,
                                    std::span<const std::string> prompts,
                                    const TextGenerator::OnText& on_text);

// The same after prompts of tokens, with every token before the first that is generated: bos and
// prompt_end are not added.
std::vector<GeneratedText> generate_after(const Generation& generation,
                                          std::vector<std::vector<std::int32_t>> prompts,
                                          const TextGenerator::OnText& on_text);

}  // namespace trivet::lm
