// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/bpe/bpe.h"

#include <algorithm>
#include <utility>

#include "tokenizers/bpe/gpt2_files.h"
#include "tokenizers/bpe/tokenizer_json.h"
#include "tokenizers/text/fingerprint_text.h"
#include "tokenizers/text/gpt2_pre_tokenizer.h"
#include "tokenizers/text/json_file.h"
#include "trivet/os/file.h"

namespace trivet::tokenizers {
namespace {

BpeVocabulary read(const BpeConfig& config) {
  if (config.file.empty()) {
    return read_gpt2_files(config.vocab.text, config.merges.text, config.special_tokens);
  }
  return read_tokenizer_json(read_text(config.file.text), config.file.text);
}

std::vector<AddedToken> select_added(const BpeVocabulary& vocabulary, bool special_ones) {
  std::vector<AddedToken> tokens = vocabulary.added;
  std::erase_if(tokens, [&](const AddedToken& token) { return token.special && !special_ones; });
  return tokens;
}

}  // namespace

void BpeConfig::validate(Diagnostics& diagnostics) const {
  const bool both = !vocab.empty() && !merges.empty();
  if (file.empty() ? both : vocab.empty() && merges.empty()) return;
  diagnostics.add(
      "file",
      file.empty() ? "must be set, or both vocab and merges"
                   : "is set together with vocab or merges",
      "file = \"tokenizer.json\", or vocab = \"vocab.json\" with merges = \"merges.txt\"");
}

Bpe::Bpe(const Config& config) : Bpe(read(config), config) {}

Bpe::Bpe(BpeVocabulary vocabulary, const Config& config)
    : vocabulary_(std::move(vocabulary)),
      match_special_tokens_(config.match_special_tokens),
      tokens_(vocabulary_),
      merges_(vocabulary_),
      matched_(select_added(vocabulary_, config.match_special_tokens)),
      ids_(special_ids(config, [&](const std::string& name) { return added_id(name); })) {}

std::int32_t Bpe::vocabulary_size() const {
  return static_cast<std::int32_t>(vocabulary_.tokens.size());
}

std::vector<std::int32_t> Bpe::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  while (const auto match = matched_.find(text)) {
    encode_piece(text.substr(0, match->begin), ids);
    ids.push_back(match->id);
    text.remove_prefix(match->begin + match->length);
  }
  encode_piece(text, ids);
  return ids;
}

void Bpe::encode_piece(std::string_view text, std::vector<std::int32_t>& ids) const {
  if (text.empty()) return;
  if (vocabulary_.add_prefix_space && text[0] != ' ') {
    const std::string longer = ' ' + std::string(text);
    return encode_piece(longer, ids);
  }
  while (!text.empty()) {
    const std::size_t length = vocabulary_.split_words ? gpt2_word_length(text) : text.size();
    encode_word(text.substr(0, length), ids);
    text.remove_prefix(length);
  }
}

void Bpe::encode_word(std::string_view word, std::vector<std::int32_t>& ids) const {
  cache_.append(word, ids, [&](std::string_view fresh, std::vector<std::int32_t>& into) {
    const auto whole = vocabulary_.ignore_merges ? tokens_.find(std::string(fresh)) : std::nullopt;
    if (whole) {
      into.push_back(*whole);
    } else {
      merges_.encode(fresh, into);
    }
  });
}

std::string Bpe::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    check_id(id);
    text += vocabulary_.tokens[static_cast<std::size_t>(id)];
  }
  return text;
}

std::string Bpe::token_text(std::int32_t id) const {
  return decode({&id, 1});
}

std::optional<std::int32_t> Bpe::added_id(std::string_view content) const {
  for (const AddedToken& token : vocabulary_.added) {
    if (token.special && token.content == content) return token.id;
  }
  return std::nullopt;
}

std::optional<std::int32_t> Bpe::token_id(std::string_view text) const {
  const auto id = added_id(text);
  return id ? id : tokens_.find(std::string(text));
}

bool Bpe::is_special(std::int32_t id) const {
  check_id(id);
  return std::any_of(vocabulary_.added.begin(), vocabulary_.added.end(),
                     [&](const AddedToken& token) { return token.special && token.id == id; });
}

std::string Bpe::fingerprint() const {
  FingerprintText text("tokenizers/Bpe 1");
  for (const std::string& token : vocabulary_.tokens) text.add(token);
  for (const auto& [left, right] : vocabulary_.merges) {
    text.add(std::int64_t{left});
    text.add(std::int64_t{right});
  }
  for (const AddedToken& token : vocabulary_.added) {
    text.add(std::int64_t{token.id});
    text.add(token.special ? "special" : "added");
  }
  for (const bool flag : {vocabulary_.split_words, vocabulary_.add_prefix_space,
                          vocabulary_.ignore_merges, match_special_tokens_}) {
    text.add(std::int64_t{flag});
  }
  for (const auto& id : {vocabulary_.unknown, ids_.bos, ids_.eos, ids_.pad}) text.add(id);
  return text.digest();
}

std::optional<std::string> Bpe::tokenizer_json() const {
  return tokenizer_json_text(vocabulary_);
}

ConfigOf<Tokenizer> Bpe::store(const std::filesystem::path& folder) const {
  BpeConfig config;
  config.file = "tokenizer.json";
  config.match_special_tokens = match_special_tokens_;
  const auto name_of = [&](const std::optional<std::int32_t>& id) {
    const auto found = std::find_if(vocabulary_.added.begin(), vocabulary_.added.end(),
                                    [&](const AddedToken& token) { return token.id == id; });
    return found == vocabulary_.added.end() ? std::string() : found->content;
  };
  config.bos_token = name_of(ids_.bos);
  config.eos_token = name_of(ids_.eos);
  config.pad_token = name_of(ids_.pad);
  replace_file(folder / config.file.text, tokenizer_json_text(vocabulary_));
  return config;
}

}  // namespace trivet::tokenizers
