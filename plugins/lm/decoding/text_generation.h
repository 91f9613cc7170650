// SPDX-License-Identifier: Apache-2.0
// Texts continued by a model: tokens in, decoding, text out.
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
  std::optional<std::int32_t> bos{};         // in front of each prompt
  std::optional<std::int32_t> prompt_end{};  // behind each prompt
  std::optional<std::int32_t> eos{};         // ends a continuation
  std::uint64_t seed = 0;
  std::vector<GenerateOptions::Draw> draws{};
  std::span<const std::string> stop{};
};

// With what `options` set. Throws UsageError for what cannot be, and for what beam search would
// pass over.
DecodeConfig with_options(DecodeConfig config, const GenerateOptions& options);

// That of a prompt, by its number where `draws` has none for it.
GenerateOptions::Draw draw_of(std::span<const GenerateOptions::Draw> draws, std::size_t prompt);

// For messages: "prompt 3", by its Draw, which is its line where prompts are a file's; "the prompt"
// where all are samples of one.
std::string name_of_prompt(std::span<const GenerateOptions::Draw> draws, std::size_t prompt,
                           std::size_t prompts);

// As TextGenerator::generate.
std::vector<GeneratedText> generate(const Generation& generation,
                                    std::span<const std::string> prompts,
                                    const TextGenerator::OnText& on_text);

}  // namespace trivet::lm
