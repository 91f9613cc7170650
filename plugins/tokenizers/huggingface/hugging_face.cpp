// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/huggingface/hugging_face.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "tokenizers/huggingface/unapplied_parts.h"
#include "tokenizers/text/fingerprint_text.h"
#include "tokenizers/text/json_file.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/text/utf8.h"

namespace trivet::tokenizers {
namespace {

bool has_byte_level(const nlohmann::json& pre_tokenizer) {
  if (type_of(pre_tokenizer) == "ByteLevel") return true;
  const nlohmann::json& steps = field_of(pre_tokenizer, "pretokenizers");
  return std::any_of(steps.begin(), steps.end(), &has_byte_level);
}

// The digest of the parts of the file that decide, whatever the order of their fields.
std::string digest_of(const nlohmann::json& file, bool match_special_tokens,
                      const SpecialIds& ids) {
  FingerprintText text("tokenizers/HuggingFace 1");
  for (const char* name : {"added_tokens", "normalizer", "pre_tokenizer", "model", "decoder"}) {
    text.add(field_of(file, name).dump());
  }
  text.add(std::int64_t{match_special_tokens});
  for (const auto& id : {ids.bos, ids.eos, ids.pad}) text.add(id);
  return text.digest();
}

}  // namespace

HuggingFace::HuggingFace(const Config& config) : HuggingFace(read_text(config.file.text), config) {}

HuggingFace::HuggingFace(std::string json, const Config& config)
    : json_(std::move(json)), match_special_tokens_(config.match_special_tokens) {
  const std::string& source = config.file.text;
  const nlohmann::json parsed = parse_json(json_, source);
  const JsonPart file(parsed, source);
  if (!parsed.is_object()) file.fail("is not a tokenizer.json: expected an object");
  file.check_fields({"version", "truncation", "padding", "added_tokens", "normalizer",
                     "pre_tokenizer", "post_processor", "decoder", "model"});
  describe_unapplied(file);
  normalizer_ = read_normalizer(file.field("normalizer"));
  pre_tokenizer_ = read_pre_tokenizer(file.field("pre_tokenizer"));
  decoder_ = read_decoder(file.field("decoder"));
  if (!decoder_ && has_byte_level(field_of(parsed, "pre_tokenizer"))) {
    decoder_ = byte_level_decoder();
  }
  if (file.field("model").is_null()) file.fail("\"model\" is missing");
  model_ = read_model(file.field("model"));

  std::vector<AddedTokenRule> added = read_added_tokens(file.field("added_tokens"));
  read_tokens(file, added);
  ids_ = special_ids(config, [&](const std::string& name) { return special_id(name); });
  std::erase_if(added,
                [&](const AddedTokenRule& rule) { return rule.special && !match_special_tokens_; });
  std::vector<AddedTokenRule> normalized;
  for (AddedTokenRule& rule : added) {
    if (rule.normalized) normalized.push_back(std::move(rule));
  }
  std::erase_if(added, [](const AddedTokenRule& rule) { return rule.normalized; });
  for (AddedTokenRule& rule : normalized) {
    if (normalizer_) rule.content = normalizer_->apply(std::move(rule.content));
  }
  before_ = AddedVocabulary(std::move(added));
  after_ = AddedVocabulary(std::move(normalized));
  fingerprint_ = digest_of(parsed, match_special_tokens_, ids_);
}

void HuggingFace::read_tokens(const JsonPart& file, const std::vector<AddedTokenRule>& added) {
  ModelTokens all = model_->tokens();
  const JsonPart list = file.field("added_tokens");
  for (const AddedTokenRule& rule : added) {
    const auto known = model_->tokens().find(rule.content);
    if (known && *known != rule.id) {
      list.fail(fmt::format("has {} with the id {}, and the model has it with {}",
                            shown_json(rule.content), rule.id, *known));
    }
    if (!known) all.add(rule.content, rule.id, list);
  }
  const std::size_t size = all.by_id().size();
  if (size == 0) file.field("model").field("vocab").fail("is empty");
  for (std::size_t i = 0; i < size; ++i) {
    const auto found = all.by_id().find(static_cast<std::int32_t>(i));
    if (found == all.by_id().end()) {
      file.fail(fmt::format("no token has the id {}, and others have higher ids", i),
                "ids must be 0, 1, 2, ... without a gap: add tokens such as <unused0>");
    }
    tokens_.push_back({found->second});
  }
  for (const AddedTokenRule& rule : added) {
    tokens_[static_cast<std::size_t>(rule.id)].kind = rule.special ? Kind::special : Kind::added;
  }
  // Special tokens first, then the texts of all, then their names in the file.
  for (std::int32_t id = 0; id < vocabulary_size(); ++id) {
    if (is_special(id)) by_text_.try_emplace(tokens_[static_cast<std::size_t>(id)].text, id);
  }
  for (std::int32_t id = 0; id < vocabulary_size(); ++id) by_text_.try_emplace(token_text(id), id);
  for (std::int32_t id = 0; id < vocabulary_size(); ++id) {
    by_text_.try_emplace(tokens_[static_cast<std::size_t>(id)].text, id);
  }
}

std::int32_t HuggingFace::vocabulary_size() const {
  return static_cast<std::int32_t>(tokens_.size());
}

std::vector<std::int32_t> HuggingFace::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  for (const AddedVocabulary::Section& section : before_.sections(text)) {
    if (section.id) {
      ids.push_back(*section.id);
    } else {
      encode_section(text.substr(section.begin, section.end - section.begin), section.begin == 0,
                     ids);
    }
  }
  return ids;
}

void HuggingFace::encode_section(std::string_view text, bool at_start,
                                 std::vector<std::int32_t>& ids) const {
  while (!text.empty()) {
    const std::size_t valid = find_invalid_utf8(text).value_or(text.size());
    if (valid > 0) encode_text(std::string(text.substr(0, valid)), at_start, ids);
    text.remove_prefix(valid);
    at_start = at_start && valid == 0;
    std::size_t invalid = 0;
    while (invalid < text.size() && first_code_point(text.substr(invalid)).length == 0) ++invalid;
    if (invalid == 0) continue;
    encode_piece(
        {.text = std::string(text.substr(0, invalid)), .at_start = at_start, .is_utf8 = false},
        ids);
    text.remove_prefix(invalid);
    at_start = false;
  }
}

void HuggingFace::encode_text(std::string text, bool at_start,
                              std::vector<std::int32_t>& ids) const {
  if (normalizer_) text = normalizer_->apply(std::move(text));
  for (const AddedVocabulary::Section& section : after_.sections(text)) {
    if (section.id) {
      ids.push_back(*section.id);
    } else {
      encode_piece({.text = text.substr(section.begin, section.end - section.begin),
                    .at_start = at_start && section.begin == 0},
                   ids);
    }
  }
}

void HuggingFace::encode_piece(Piece piece, std::vector<std::int32_t>& ids) const {
  const auto to_model = [&](const Piece& part) {
    if (!part.is_utf8) return model_->encode_bytes(part.text, ids);
    cache_.append(part.text, ids, [&](std::string_view fresh, std::vector<std::int32_t>& into) {
      model_->encode(fresh, into);
    });
  };
  if (!pre_tokenizer_) return to_model(piece);
  pre_tokenizer_->apply(std::move(piece), to_model);
}

DecodedToken HuggingFace::token(std::int32_t id) const {
  check_id(id);
  const Token& found = tokens_[static_cast<std::size_t>(id)];
  return {.text = found.text, .is_added = found.kind != Kind::model};
}

std::string HuggingFace::join(std::vector<DecodedToken> tokens) const {
  std::string text;
  if (decoder_) {
    for (const DecodedToken& part : decoder_->apply(std::move(tokens))) text += part.text;
    return text;
  }
  for (const DecodedToken& part : tokens) text += (text.empty() ? "" : " ") + part.text;
  return text;
}

std::string HuggingFace::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  if (decoder_ && decoder_->treats_each_alone()) {
    for (const std::int32_t id : ids) text += join({token(id)});
    return text;
  }
  std::vector<DecodedToken> tokens;
  tokens.reserve(ids.size());
  for (const std::int32_t id : ids) tokens.push_back(token(id));
  return join(std::move(tokens));
}

std::string HuggingFace::token_text(std::int32_t id) const {
  const DecodedToken own = token(id);
  if (own.is_added || !decoder_) return own.text;
  // Decoders treat the first token in another way.
  const std::string before = "a";
  const std::string text = join({{.text = before}, own});
  return text.starts_with(before) ? text.substr(before.size()) : own.text;
}

std::optional<std::int32_t> HuggingFace::special_id(const std::string& content) const {
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    if (tokens_[id].kind == Kind::special && tokens_[id].text == content) {
      return static_cast<std::int32_t>(id);
    }
  }
  return std::nullopt;
}

std::optional<std::int32_t> HuggingFace::token_id(std::string_view text) const {
  const auto found = by_text_.find(std::string(text));
  return found == by_text_.end() ? std::nullopt : std::optional(found->second);
}

bool HuggingFace::is_special(std::int32_t id) const {
  check_id(id);
  return tokens_[static_cast<std::size_t>(id)].kind == Kind::special;
}

ConfigOf<Tokenizer> HuggingFace::store(const std::filesystem::path& folder) const {
  HuggingFaceConfig config;
  config.file = "tokenizer.json";
  config.match_special_tokens = match_special_tokens_;
  const auto name_of = [&](const std::optional<std::int32_t>& id) {
    return id ? tokens_[static_cast<std::size_t>(*id)].text : std::string();
  };
  config.bos_token = name_of(ids_.bos);
  config.eos_token = name_of(ids_.eos);
  config.pad_token = name_of(ids_.pad);
  replace_file(folder / config.file.text, json_);
  return config;
}

}  // namespace trivet::tokenizers
