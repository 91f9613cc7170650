// SPDX-License-Identifier: Apache-2.0
// Texts continued by a model: tokens in, decoding, text out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decode_config.h"
#include "trivet/extensions/next_token.h"
#include "trivet/extensions/text_generator.h"
#include "trivet/tokenizer.h"

namespace trivet::lm {

struct Generation {
  const NextToken& model;
  Device& device;
  const Tokenizer& tokenizer;
  DecodeConfig config{};
  std::optional<std::int32_t> bos{};  // in front of each prompt
  std::optional<std::int32_t> eos{};  // ends a continuation
  std::uint64_t seed = 0;
  std::span<const std::string> stop{};
};

// With what `options` set. Throws UsageError for what cannot be.
DecodeConfig with_options(DecodeConfig config, const GenerateOptions& options);

// As TextGenerator::generate.
std::vector<GeneratedText> generate(const Generation& generation,
                                    std::span<const std::string> prompts,
                                    const TextGenerator::OnText& on_text);

}  // namespace trivet::lm
