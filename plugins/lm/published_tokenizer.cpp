// SPDX-License-Identifier: Apache-2.0
#include "published_tokenizer.h"

#include <utility>

#include "trivet/error.h"
#include "trivet/registry.h"

namespace trivet::lm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBpe = "tokenizers/Bpe";
constexpr const char* kSentencePiece = "sentencepiece/Model";

struct Form {
  const char* type;
  std::vector<std::pair<const char*, const char*>> files;  // field and name
};

std::vector<Form> forms() {
  return {{kBpe, {{"file", "tokenizer.json"}}},
          {kBpe, {{"vocab", "vocab.json"}, {"merges", "merges.txt"}}},
          {kSentencePiece, {{"file", "tokenizer.model"}}}};
}

// Files of vocabularies do not say which tokens begin and end texts; config.json does.
ConfigOf<Tokenizer> with_marks(const ConfigOf<Tokenizer>& tokenizer, const Tokenizer& made,
                               const PublishedConfig& config) {
  Value fields = tokenizer.fields();
  const auto set = [&](const char* field, std::optional<std::int32_t> found,
                       std::optional<std::int32_t> said) {
    if (!said || found == said || *said >= made.vocabulary_size() || !made.is_special(*said))
      return;
    fields.set(field, made.token_text(*said));
  };
  set("bos_token", made.bos_id(), config.token("bos_token_id"));
  set("eos_token", made.eos_id(), config.token("eos_token_id"));
  return {std::string(tokenizer.key()), std::move(fields)};
}

PublishedTokenizer read(const Form& form, const fs::path& folder, const PublishedConfig& config,
                        std::int64_t vocab_size) {
  PublishedTokenizer result;
  Value fields = Value::table();
  for (const auto& file : form.files) {
    result.files.emplace_back(file.second);
    fields.set(file.first, (folder / file.second).string());
  }
  result.config = {form.type, std::move(fields)};
  auto tokenizer = make(result.config);
  if (form.type == std::string_view(kBpe)) {
    result.config = with_marks(result.config, *tokenizer, config);
    tokenizer = make(result.config);
  }
  result.has_bos = tokenizer->bos_id().has_value();
  if (tokenizer->vocabulary_size() > vocab_size) {
    throw UsageError((folder / form.files[0].second).string() + " has " +
                     std::to_string(tokenizer->vocabulary_size()) +
                     " tokens, and \"vocab_size\" of config.json is " + std::to_string(vocab_size));
  }
  return result;
}

}  // namespace

std::optional<PublishedTokenizer> find_tokenizer(const fs::path& folder,
                                                 const PublishedConfig& config,
                                                 std::int64_t vocab_size) {
  std::optional<UsageError> first;
  for (const Form& form : forms()) {
    bool there = true;
    for (const auto& file : form.files) there = there && fs::exists(folder / file.second);
    if (!there) continue;
    try {
      return read(form, folder, config, vocab_size);
    } catch (const UsageError& failure) {
      if (!first) first = failure;
    } catch (const Error& failure) {
      if (!first) {
        first = UsageError(failure.message(),
                           {.hint = (failure.hint().empty() ? "" : failure.hint() + "; ") +
                                    "--no-tokenizer imports the weights alone"});
      }
    }
  }
  if (first) throw UsageError(*first);
  return std::nullopt;
}

ConfigOf<Tokenizer> in_folder(const ConfigOf<Tokenizer>& config, const fs::path& folder) {
  Value fields = config.fields();
  for (const char* name : {"file", "vocab", "merges"}) {
    const Value* file = fields.find(name);
    if (file != nullptr) fields.set(name, (folder / fs::path(file->as_text()).filename()).string());
  }
  return {std::string(config.key()), std::move(fields)};
}

}  // namespace trivet::lm
