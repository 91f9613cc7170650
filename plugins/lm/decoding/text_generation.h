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
  DecodeConfig config{};
  std::optional<std::int32_t> bos{};         // before each prompt
  std::optional<std::int32_t> prompt_end{};  // after each prompt
  std::optional<std::int32_t> eos{};         // ends a continuation
  std::uint64_t seed = 0;
  std::vector<GenerateOptions::Draw> draws{};
  std::span<const std::string> stop{};
};

// Returns `config` with the fields that `options` sets. Throws UsageError for invalid values and
// for options that beam search would ignore.
DecodeConfig with_options(DecodeConfig config, const GenerateOptions& options);

// The Draw of a prompt; its number if `draws` has none for it.
GenerateOptions::Draw draw_of(std::span<const GenerateOptions::Draw> draws, std::size_t prompt);

// For messages: "prompt 3", numbered by its Draw (its line if prompts come from a file), or "the
// prompt" if all are samples of one.
std::string name_of_prompt(std::span<const GenerateOptions::Draw> draws, std::size_t prompt,
                           std::size_t prompts);

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
