// SPDX-License-Identifier: Apache-2.0
// Turns the examples of a source into token ids.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/sources/text_template.h"
#include "data/tokens/token_store.h"
#include "trivet/data_source.h"
#include "trivet/input.h"
#include "trivet/tokenizer.h"

namespace trivet::data {

// A source and how to tokenize its examples.
struct TextPipeline {
  std::shared_ptr<DataSource> source;  // null for examples that a user gives
  std::shared_ptr<const Tokenizer> tokenizer;
  TextTemplate inputs{""};
  TextTemplate targets{"{text}"};
  TextTemplate suffixes{""};            // after targets
  TextTemplate task_ids{""};            // the number of an example's task; empty: 0
  std::vector<std::string> features{};  // names of those to keep as texts
  std::int64_t inputs_len = 0;          // limit on tokens of inputs, inputs_end included; 0: none
  std::optional<std::int32_t> inputs_end{};  // appended to inputs, also if they are cut
  // The token that [MASK] and <mask> mean in targets, which need one. Empty: they are text.
  std::optional<std::int32_t> mask_id{};
};

// Uses the defaults above.
TextPipeline text_pipeline(std::shared_ptr<DataSource> source,
                           std::shared_ptr<const Tokenizer> tokenizer);

// Returns the input's own tokenizer, else the task's, else null.
std::shared_ptr<const Tokenizer> tokenizer_of(const ConfigOf<Tokenizer>& own,
                                              const InputContext& context);
// Throws ConfigError if neither exists.
std::shared_ptr<const Tokenizer> required_tokenizer(const ConfigOf<Tokenizer>& own,
                                                    const InputContext& context);

struct TokenizedExample {
  std::vector<std::int32_t> ids;  // inputs, then targets and their suffix
  std::int64_t inputs = 0;        // the number of ids of the inputs
  std::int64_t suffix = 0;        // and of the suffix
  std::int32_t task = 0;
  std::vector<std::string> features{};
};

// Returns the ids of a text. Throws InputError with `location` if the tokenizer refuses it or makes
// an id outside its vocabulary, which would index out of a model's tables.
std::vector<std::int32_t> encode_checked(const Tokenizer& tokenizer, std::string_view text,
                                         const std::string& location);

// Reads a source whose ids will be kept in memory. Throws InputError if it has more than `limit`
// bytes: before reading if it knows its size, else as soon as the limit is passed.
void read_limited(DataSource& source, std::int64_t limit, const DataSource::Visit& visit);

// Visits every example of the source.
void tokenize_each(const TextPipeline& pipeline,
                   const std::function<void(const TokenizedExample&)>& visit);
// Returns the ids of all examples of `source`, in memory. Throws InputError as read_limited() does.
std::unique_ptr<MemoryTokens> tokenize(const TextPipeline& pipeline, DataSource& source,
                                       std::int64_t limit);

// Returns the number of text bytes per id, 0 for special tokens.
std::vector<std::int32_t> bytes_of_ids(const Tokenizer& tokenizer);

}  // namespace trivet::data
