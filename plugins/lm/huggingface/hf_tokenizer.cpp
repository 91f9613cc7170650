// SPDX-License-Identifier: Apache-2.0
#include "lm/huggingface/hf_tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/plugin/registry.h"

namespace trivet::lm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBpe = "tokenizers/Bpe";
constexpr const char* kHuggingFace = "tokenizers/HuggingFace";
constexpr const char* kSentencePiece = "sentencepiece/Model";

struct Form {
  const char* type;
  std::vector<std::pair<const char*, const char*>> files;  // field and name
};

std::vector<Form> forms() {
  // The class of GPT-2's form comes first; the other one reads all forms.
  return {{kBpe, {{"file", "tokenizer.json"}}},
          {kHuggingFace, {{"file", "tokenizer.json"}}},
          {kBpe, {{"vocab", "vocab.json"}, {"merges", "merges.txt"}}},
          {kSentencePiece, {{"file", "tokenizer.model"}}}};
}

// Vocabulary files do not name the tokens that start and end texts; config.json does.
ConfigOf<Tokenizer> with_special_tokens(const ConfigOf<Tokenizer>& tokenizer, const Tokenizer& made,
                                        const HfConfig& config) {
  Value fields = tokenizer.fields();
  const auto set = [&](const char* field, std::optional<std::int32_t> found,
                       std::optional<std::int32_t> said) {
    if (!said || found == said || *said >= made.vocabulary_size() || !made.is_special(*said)) {
      return;
    }
    fields.set(field, made.token_text(*said));
  };
  set("bos_token", made.bos_id(), config.token("bos_token_id"));
  set("eos_token", made.eos_id(), config.token("eos_token_id"));
  return {std::string(tokenizer.key()), std::move(fields)};
}

std::unique_ptr<Tokenizer> read(const Form& form, const fs::path& folder, const HfConfig& config,
                                std::int64_t vocab_size) {
  Value fields = Value::table();
  for (const auto& file : form.files) fields.set(file.first, (folder / file.second).string());
  const ConfigOf<Tokenizer> said(form.type, std::move(fields));
  auto tokenizer = make(said);
  if (form.type != std::string_view(kSentencePiece)) {
    tokenizer = make(with_special_tokens(said, *tokenizer, config));
  }
  if (tokenizer->vocabulary_size() > vocab_size) {
    throw UsageError((folder / form.files[0].second).string() + " has " +
                     std::to_string(tokenizer->vocabulary_size()) +
                     " tokens, and \"vocab_size\" of config.json is " + std::to_string(vocab_size));
  }
  return tokenizer;
}

using Json = nlohmann::json;

// Skips the vocabulary, which is most of the file.
Json json_of(const fs::path& file) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  const auto keep = [](int depth, Json::parse_event_t event, Json& parsed) {
    return !(depth == 1 && event == Json::parse_event_t::key && parsed == "model");
  };
  try {
    return Json::parse(read_text_file(file, kMostBytes), keep);
  } catch (const Json::exception& failure) {
    throw UsageError(file.string() + ": is not JSON: " + failure.what());
  } catch (const RunError& failure) {
    throw UsageError(failure.message());
  }
}

Json field(const Json& object, const char* name) {
  return object.is_object() && object.contains(name) ? object.at(name) : Json();
}

// Whether a post-processor of Hugging Face's tokenizers prepends the token to a text.
bool puts_in_front(const Json& processor, const std::string& token) {
  const Json type = field(processor, "type");
  if (type == "Sequence") {
    const Json parts = field(processor, "processors");
    return std::any_of(parts.begin(), parts.end(),
                       [&](const Json& part) { return puts_in_front(part, token); });
  }
  if (type == "TemplateProcessing") {
    const Json single = field(processor, "single");
    return single.is_array() && !single.empty() &&
           field(field(single.front(), "SpecialToken"), "id") == token;
  }
  const Json cls = field(processor, "cls");  // for BertProcessing and RobertaProcessing
  return cls.is_array() && !cls.empty() && cls.front() == token;
}

}  // namespace

bool adds_start_token(const HfTokenizer& found, bool otherwise) {
  if (!found.tokenizer || !found.tokenizer->bos_id()) return false;
  const fs::path config = found.file.parent_path() / "tokenizer_config.json";
  if (fs::exists(config)) {
    const Json said = field(json_of(config), "add_bos_token");
    if (said.is_boolean()) return said.get<bool>();
  }
  if (found.file.filename() != "tokenizer.json") return otherwise;
  return puts_in_front(field(json_of(found.file), "post_processor"),
                       found.tokenizer->token_text(*found.tokenizer->bos_id()));
}

namespace {

// The special tokens of "single" after the text, such as "[SEP]".
std::string put_behind(const Json& processor) {
  const Json type = field(processor, "type");
  std::string tokens;
  if (type == "Sequence") {
    for (const Json& part : field(processor, "processors")) tokens += put_behind(part);
  } else if (type == "TemplateProcessing") {
    bool after_text = false;
    for (const Json& item : field(processor, "single")) {
      const Json special = field(field(item, "SpecialToken"), "id");
      after_text = after_text || !field(item, "Sequence").is_null();
      if (after_text && special.is_string()) tokens += special.get<std::string>();
    }
  } else if (const Json sep = field(processor, "sep"); sep.is_array() && !sep.empty()) {
    tokens = sep.front().is_string() ? sep.front().get<std::string>() : "";
  }
  return tokens;
}

}  // namespace

std::vector<std::string> unused_parts(const HfTokenizer& found) {
  std::vector<std::string> lines;
  if (!found.tokenizer) return lines;
  const fs::path folder = found.file.parent_path();
  const fs::path config = folder / "tokenizer_config.json";
  const std::string remedy = " is not imported: write prompts in its form yourself";
  if (fs::exists(config) && !field(json_of(config), "chat_template").is_null()) {
    lines.push_back("\"chat_template\" of " + config.string() + remedy);
  }
  for (const char* name : {"chat_template.jinja", "chat_template.json"}) {
    if (fs::exists(folder / name)) lines.push_back((folder / name).string() + remedy);
  }
  if (found.file.filename() == "tokenizer.json") {
    const std::string tokens = put_behind(field(json_of(found.file), "post_processor"));
    if (!tokens.empty()) {
      lines.push_back("\"post_processor\" of " + found.file.string() + " puts " + tokens +
                      " behind texts; prompts have no token behind them");
    }
  }
  return lines;
}

HfTokenizer find_tokenizer(const fs::path& folder, const HfConfig& config,
                           std::int64_t vocab_size) {
  std::optional<UsageError> first;
  // tokenizers/HuggingFace says what is wrong with a file that neither class reads.
  const auto keep = [&](const Form& form, const UsageError& failure) {
    if (!first || form.type == std::string_view(kHuggingFace)) first = failure;
  };
  for (const Form& form : forms()) {
    bool there = true;
    for (const auto& file : form.files) there = there && fs::exists(folder / file.second);
    if (!there) continue;
    try {
      return {read(form, folder, config, vocab_size), folder / form.files[0].second};
    } catch (const UsageError& failure) {
      keep(form, failure);
    } catch (const Error& failure) {
      keep(form, UsageError(failure.message(),
                            {.hint = (failure.hint().empty() ? "" : failure.hint() + "; ") +
                                     "--no-tokenizer imports the weights alone"}));
    }
  }
  if (first) throw UsageError(*first);
  return {};
}

}  // namespace trivet::lm
