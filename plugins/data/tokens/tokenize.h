// SPDX-License-Identifier: Apache-2.0
// From examples of a source to token ids.
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

// A source and what becomes of its examples.
struct TextPipeline {
  std::shared_ptr<DataSource> source;
  std::shared_ptr<const Tokenizer> tokenizer;
  TextTemplate inputs{""};
  TextTemplate targets{"{text}"};
  std::int64_t inputs_len = 0;  // most tokens of the inputs, inputs_end included; 0: any number
  std::optional<std::int32_t> inputs_end{};  // behind the inputs, also where they are cut
};

// With the defaults above.
TextPipeline text_pipeline(std::shared_ptr<DataSource> source,
                           std::shared_ptr<const Tokenizer> tokenizer);

// The input's own, else the task's; null where there is neither.
std::shared_ptr<const Tokenizer> tokenizer_of(const ConfigOf<Tokenizer>& own,
                                              const InputContext& context);
// Throws ConfigError where there is neither.
std::shared_ptr<const Tokenizer> required_tokenizer(const ConfigOf<Tokenizer>& own,
                                                    const InputContext& context);

struct TokenizedExample {
  std::vector<std::int32_t> ids;  // inputs, then targets
  std::int64_t inputs = 0;        // how many are of the inputs
};

// The ids of a text. Throws InputError with `location` for what the tokenizer refuses, and for ids
// outside its vocabulary, which would read and write beside the tables of a model.
std::vector<std::int32_t> encode_checked(const Tokenizer& tokenizer, std::string_view text,
                                         const std::string& location);

// Reads a source whose ids are to be kept in memory. Throws InputError where it has more than
// `limit` bytes: before it is read where it knows its bytes, else when so many came.
void read_limited(DataSource& source, std::int64_t limit, const DataSource::Visit& visit);

// Visits every example of the source.
void tokenize_each(const TextPipeline& pipeline,
                   const std::function<void(const TokenizedExample&)>& visit);
// All of them in memory. Throws InputError as read_limited() does.
std::unique_ptr<MemoryTokens> tokenize(const TextPipeline& pipeline, std::int64_t limit);

// How many bytes of text each id stands for; special tokens stand for none.
std::vector<std::int32_t> bytes_of_ids(const Tokenizer& tokenizer);

}  // namespace trivet::data
