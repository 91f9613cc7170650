// SPDX-License-Identifier: Apache-2.0
#include "tokenize.h"

#include <cstddef>
#include <iterator>
#include <utility>

#include "trivet/error.h"

namespace trivet::data {

std::vector<std::int32_t> encode_checked(const Tokenizer& tokenizer, std::string_view text,
                                         const std::string& place) {
  std::vector<std::int32_t> ids;
  try {
    ids = tokenizer.encode(text);
  } catch (const InputError& error) {
    throw InputError(place + ": " + error.message(), error.details());
  }
  const std::int32_t size = tokenizer.vocabulary_size();
  for (const std::int32_t id : ids) {
    if (id >= 0 && id < size) continue;
    throw InputError(place + ": the tokenizer made the id " + std::to_string(id) +
                         ", but its vocabulary has " + std::to_string(size),
                     {.hint = "this is a mistake in the tokenizer"});
  }
  return ids;
}

TextPipeline text_pipeline(std::shared_ptr<DataSource> source,
                           std::shared_ptr<const Tokenizer> tokenizer) {
  TextPipeline pipeline;
  pipeline.source = std::move(source);
  pipeline.tokenizer = std::move(tokenizer);
  return pipeline;
}

std::shared_ptr<const Tokenizer> tokenizer_of(const ConfigOf<Tokenizer>& own,
                                              const InputContext& context) {
  if (own) return make(own);
  return context.tokenizer;
}

std::shared_ptr<const Tokenizer> required_tokenizer(const ConfigOf<Tokenizer>& own,
                                                    const InputContext& context) {
  if (auto tokenizer = tokenizer_of(own, context)) return tokenizer;
  throw ConfigError(Problem{.path = context.name + ".tokenizer",
                            .what = "is not set, and the task has no tokenizer",
                            .hint = "for example tokenizer = \"tokenizers/Bytes\""});
}

void check_size(const DataSource& source, std::int64_t limit) {
  if (std::cmp_less_equal(source.bytes(), limit)) return;
  throw InputError(source.name() + ": has " + std::to_string(source.bytes()) +
                       " bytes, more than limit = " + std::to_string(limit),
                   {.hint = "raise limit if there is the memory, or make token files with "
                            "'trivet data prepare' for data/Tokens"});
}

void tokenise_each(const TextPipeline& pipeline,
                   const std::function<void(const TokenisedExample&)>& visit) {
  TokenisedExample tokenised;
  pipeline.source->read([&](const SourceExample& example) {
    tokenised.ids =
        encode_checked(*pipeline.tokenizer, pipeline.inputs.fill(example), example.place);
    if (pipeline.inputs_len > 0 && std::ssize(tokenised.ids) > pipeline.inputs_len)
      tokenised.ids.resize(static_cast<std::size_t>(pipeline.inputs_len));
    tokenised.inputs = std::ssize(tokenised.ids);
    const std::vector<std::int32_t> targets =
        encode_checked(*pipeline.tokenizer, pipeline.targets.fill(example), example.place);
    tokenised.ids.insert(tokenised.ids.end(), targets.begin(), targets.end());
    visit(tokenised);
  });
}

std::unique_ptr<MemoryTokens> tokenise(const TextPipeline& pipeline) {
  auto tokens = std::make_unique<MemoryTokens>(pipeline.tokenizer->vocabulary_size());
  tokenise_each(pipeline,
                [&](const TokenisedExample& example) { tokens->add(example.ids, example.inputs); });
  return tokens;
}

std::vector<std::int32_t> bytes_of_ids(const Tokenizer& tokenizer) {
  std::vector<std::int32_t> bytes(static_cast<std::size_t>(tokenizer.vocabulary_size()));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    if (!tokenizer.is_special(id))
      bytes[i] = static_cast<std::int32_t>(tokenizer.token_text(id).size());
  }
  return bytes;
}

}  // namespace trivet::data
