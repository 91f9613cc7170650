// SPDX-License-Identifier: Apache-2.0
#include "data/tokens/tokenize.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <system_error>
#include <utility>

#include "trivet/error.h"
#include "trivet/text/utf8.h"

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

constexpr std::array<std::string_view, 2> kMasks = {"[MASK]", "<mask>"};

struct FoundMask {
  std::size_t begin, length;
};

std::vector<FoundMask> masks_in(std::string_view text) {
  std::vector<FoundMask> found;
  for (std::size_t i = 0; i < text.size();) {
    const auto* const mask = std::ranges::find_if(
        kMasks, [&](std::string_view name) { return text.substr(i).starts_with(name); });
    if (mask != kMasks.end()) found.push_back({i, mask->size()});
    i += mask != kMasks.end() ? mask->size() : 1;
  }
  return found;
}

// A tokenizer that knows the mask keeps the blanks around it as in its own texts. Others see the
// text between the masks.
std::vector<std::int32_t> encode_masked(const Tokenizer& tokenizer, std::int32_t mask_id,
                                        std::string_view text, const std::string& location) {
  const std::vector<FoundMask> masks = masks_in(text);
  if (masks.empty()) {
    throw InputError(location + ": has no token to predict",
                     {.hint = "write [MASK] in place of each token to predict"});
  }
  std::vector<std::int32_t> ids = encode_checked(tokenizer, text, location);
  if (std::cmp_equal(std::ranges::count(ids, mask_id), masks.size())) return ids;
  ids.clear();
  std::size_t begin = 0;
  const auto add = [&](std::size_t end) {
    const auto piece = encode_checked(tokenizer, text.substr(begin, end - begin), location);
    ids.insert(ids.end(), piece.begin(), piece.end());
  };
  for (const FoundMask& mask : masks) {
    add(mask.begin);
    ids.push_back(mask_id);
    begin = mask.begin + mask.length;
  }
  add(text.size());
  return ids;
}

// Throws InputError for what outputs cannot hold.
std::string feature_text(const std::string& name, const SourceExample& example) {
  const auto found =
      std::ranges::find(example.features, std::string_view(name), &SourceExample::Feature::name);
  if (found == example.features.end()) {
    std::vector<std::string> names;
    for (const SourceExample::Feature& feature : example.features) names.emplace_back(feature.name);
    throw InputError(example.location + ": has no feature '" + name + "' to pass through",
                     {.hint = suggestion(name, names)});
  }
  if (found->text.find('\0') != std::string_view::npos || find_invalid_utf8(found->text)) {
    throw InputError(example.location + ": the feature '" + name +
                     "' to pass through is not UTF-8 without NUL");
  }
  return std::string(found->text);
}

std::int32_t task_of(const std::string& text, const std::string& location) {
  std::int32_t task = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, task);
  if (error == std::errc() && stop == end && task >= 0) return task;
  throw InputError(location + ": task_ids gives '" + text + "', which is no number of a task",
                   {.hint = "tasks are numbered from 0"});
}

TokenizedExample tokenize_example(const TextPipeline& pipeline, const SourceExample& example) {
  TokenizedExample made;
  made.ids = encode_checked(*pipeline.tokenizer, pipeline.inputs.fill(example), example.location);
  const std::int64_t most = pipeline.inputs_len - (pipeline.inputs_end.has_value() ? 1 : 0);
  if (pipeline.inputs_len > 0 && std::ssize(made.ids) > most) {
    made.ids.resize(static_cast<std::size_t>(most));
  }
  if (pipeline.inputs_end) made.ids.push_back(*pipeline.inputs_end);
  made.inputs = std::ssize(made.ids);
  const std::string text = pipeline.targets.fill(example);
  const std::vector<std::int32_t> targets =
      pipeline.mask_id
          ? encode_masked(*pipeline.tokenizer, *pipeline.mask_id, text, example.location)
          : encode_checked(*pipeline.tokenizer, text, example.location);
  made.ids.insert(made.ids.end(), targets.begin(), targets.end());
  const std::vector<std::int32_t> suffix =
      encode_checked(*pipeline.tokenizer, pipeline.suffixes.fill(example), example.location);
  made.ids.insert(made.ids.end(), suffix.begin(), suffix.end());
  made.suffix = std::ssize(suffix);
  if (!pipeline.task_ids.empty()) {
    made.task = task_of(pipeline.task_ids.fill(example), example.location);
  }
  for (const std::string& name : pipeline.features) {
    made.features.push_back(feature_text(name, example));
  }
  return made;
}

}  // namespace

void tokenize_each(const TextPipeline& pipeline,
                   const std::function<void(const TokenizedExample&)>& visit) {
  pipeline.source->read(
      [&](const SourceExample& example) { visit(tokenize_example(pipeline, example)); });
}

std::unique_ptr<MemoryTokens> tokenize(const TextPipeline& pipeline, DataSource& source,
                                       std::int64_t limit) {
  auto tokens = std::make_unique<MemoryTokens>(pipeline.tokenizer->vocabulary_size());
  read_limited(source, limit, [&](const SourceExample& example) {
    TokenizedExample made = tokenize_example(pipeline, example);
    tokens->add(made.ids, made.inputs, made.suffix, std::move(made.features), made.task);
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
