// SPDX-License-Identifier: Apache-2.0
#include "data/tokens/tokenize.h"

#include <cstddef>
#include <iterator>
#include <utility>

#include "trivet/error.h"

namespace trivet::data {

std::vector<std::int32_t> encode_checked(const Tokenizer& tokenizer, std::string_view text,
                                         const std::string& location) {
  std::vector<std::int32_t> ids;
  try {
    ids = tokenizer.encode(text);
  } catch (const InputError& error) {
    throw InputError(location + ": " + error.message(), error.details());
  }
  const std::int32_t size = tokenizer.vocabulary_size();
  for (const std::int32_t id : ids) {
    if (id >= 0 && id < size) continue;
    throw InputError(location + ": the tokenizer made the id " + std::to_string(id) +
                         ", but its vocabulary has " + std::to_string(size),
                     {.hint = "the tokenizer has a bug"});
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
  throw ConfigError(Diagnostic{.path = context.name + ".tokenizer",
                               .what = "is not set, and the task has no tokenizer",
                               .hint = "for example tokenizer = \"tokenizers/Bytes\""});
}

void read_limited(DataSource& source, std::int64_t limit, const DataSource::Visit& visit) {
  const auto check = [&](std::uint64_t bytes, const char* has) {
    if (std::cmp_less_equal(bytes, limit)) return;
    throw InputError(source.name() + ": has " + has + std::to_string(bytes) +
                         " bytes, more than limit = " + std::to_string(limit),
                     {.hint = "raise limit if memory allows, or make token files with "
                              "'trivet data prepare' for data/Tokens"});
  };
  check(source.bytes(), "");
  std::uint64_t bytes = 0;
  source.read([&](const SourceExample& example) {
    for (const SourceExample::Feature& feature : example.features) bytes += feature.text.size();
    check(bytes, "at least ");
    visit(example);
  });
}

namespace {

TokenizedExample tokenize_example(const TextPipeline& pipeline, const SourceExample& example) {
  TokenizedExample made;
  made.ids = encode_checked(*pipeline.tokenizer, pipeline.inputs.fill(example), example.location);
  const std::int64_t most = pipeline.inputs_len - (pipeline.inputs_end.has_value() ? 1 : 0);
  if (pipeline.inputs_len > 0 && std::ssize(made.ids) > most) {
    made.ids.resize(static_cast<std::size_t>(most));
  }
  if (pipeline.inputs_end) made.ids.push_back(*pipeline.inputs_end);
  made.inputs = std::ssize(made.ids);
  const std::vector<std::int32_t> targets =
      encode_checked(*pipeline.tokenizer, pipeline.targets.fill(example), example.location);
  made.ids.insert(made.ids.end(), targets.begin(), targets.end());
  return made;
}

}  // namespace

void tokenize_each(const TextPipeline& pipeline,
                   const std::function<void(const TokenizedExample&)>& visit) {
  pipeline.source->read(
      [&](const SourceExample& example) { visit(tokenize_example(pipeline, example)); });
}

std::unique_ptr<MemoryTokens> tokenize(const TextPipeline& pipeline, std::int64_t limit) {
  auto tokens = std::make_unique<MemoryTokens>(pipeline.tokenizer->vocabulary_size());
  read_limited(*pipeline.source, limit, [&](const SourceExample& example) {
    const TokenizedExample made = tokenize_example(pipeline, example);
    tokens->add(made.ids, made.inputs);
  });
  return tokens;
}

std::vector<std::int32_t> bytes_of_ids(const Tokenizer& tokenizer) {
  std::vector<std::int32_t> bytes(static_cast<std::size_t>(tokenizer.vocabulary_size()));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    if (!tokenizer.is_special(id)) {
      bytes[i] = static_cast<std::int32_t>(tokenizer.token_text(id).size());
    }
  }
  return bytes;
}

}  // namespace trivet::data
