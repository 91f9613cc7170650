// SPDX-License-Identifier: Apache-2.0
// What decode programs need of tasks for text: the prompts and references of a batch's rows, and
// the texts that a model writes for them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trivet/extensions/batch_decoder.h"
#include "trivet/extensions/text_generator.h"
#include "trivet/tensor/nested_map.h"
#include "trivet/tokenizer.h"

namespace trivet::lm {

using TokenIds = std::vector<std::int32_t>;

struct PromptedRow {
  TokenIds prompt;     // the ids up to the first label that counts
  TokenIds reference;  // the labels from there to the last one that counts
};

// The rows of a batch with "ids", "labels", "weights", "segment_ids" [B, T] and "weight" [B]
// (data/LanguageModel): nothing for a row of weight 0. Throws UsageError for a row of several
// documents, and for one in which no label counts.
std::vector<std::optional<PromptedRow>> prompted_rows(const Batch& batch);

// The ids of each row of `ids` [B, T] where `paddings` is 0; nothing for a row of weight 0.
std::vector<std::optional<TokenIds>> unpadded_rows(const Batch& batch, const std::string& ids,
                                                   const std::string& paddings);

// The text of ids without the tokens `bos` at their start and `eos` at their end.
std::string text_of(const Tokenizer& tokenizer, std::span<const std::int32_t> ids,
                    std::optional<std::int32_t> bos, std::optional<std::int32_t> eos);

// The options of options.num_samples texts for each of the prompts, whose numbers in the data are
// `numbers`: all samples of a prompt, then those of the next. Throws UsageError for several samples
// with beam search.
GenerateOptions options_of_samples(const BatchDecodeOptions& options,
                                   const std::vector<std::uint64_t>& numbers,
                                   std::int64_t beam_size);

// The texts of each prompt, the most likely first. They have no prompt and no references yet.
std::vector<DecodedExample> grouped(std::vector<GeneratedText> texts, std::int64_t num_samples);

}  // namespace trivet::lm
