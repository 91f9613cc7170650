// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/models/unigram.h"

#include <algorithm>
#include <limits>

#include "tokenizers/text/json_file.h"
#include "tokenizers/text/unicode.h"

namespace trivet::tokenizers {
namespace {

constexpr double kUnknownPenalty = 10;

std::uint64_t edge(std::uint32_t node, char byte) {
  return std::uint64_t{node} << 8 | static_cast<unsigned char>(byte);
}

// Reads "vocab", a list of [token, log-probability].
ModelTokens read_scored_tokens(const JsonPart& vocab) {
  ModelTokens tokens;
  std::int64_t id = 0;
  for (const JsonPart& item : vocab.items()) {
    const nlohmann::json& value = item.value();
    if (!value.is_array() || value.size() != 2 || !value[0].is_string() || !value[1].is_number()) {
      item.fail("must be [token, log-probability], not " + shown_json(value));
    }
    tokens.add(value[0].get<std::string>(), id++, item);
  }
  return tokens;
}

std::optional<std::int32_t> unknown_id(const JsonPart& part, const ModelTokens& tokens) {
  if (part.field("unk_id").is_null()) return std::nullopt;
  const auto size = static_cast<std::int64_t>(tokens.by_id().size());
  if (size == 0) part.field("unk_id").fail("is set, but the vocabulary is empty");
  return static_cast<std::int32_t>(part.integer("unk_id", std::nullopt, 0, size - 1));
}

}  // namespace

Unigram::Unigram(const JsonPart& part) : Unigram(part, read_scored_tokens(part.field("vocab"))) {}

Unigram::Unigram(const JsonPart& part, ModelTokens tokens)
    : TokenModel(tokens, unknown_id(part, tokens)),
      byte_fallback_(part.flag("byte_fallback", false)) {
  part.check_fields({"vocab", "unk_id", "byte_fallback"});
  double lowest = std::numeric_limits<double>::infinity();
  for (const nlohmann::json& item : part.field("vocab").value()) {
    const double score = item[1].get<double>();
    lowest = std::min(lowest, score);
    add_to_trie(item[0].get_ref<const std::string&>(), static_cast<std::int32_t>(scores_.size()));
    scores_.push_back(score);
  }
  unknown_score_ = lowest - kUnknownPenalty;
}

void Unigram::add_to_trie(std::string_view token, std::int32_t id) {
  std::uint32_t node = 0;
  for (const char byte : token) {
    const auto fresh = static_cast<std::uint32_t>(node_ids_.size());
    const auto [next, added] = nodes_.emplace(edge(node, byte), fresh);
    if (added) node_ids_.push_back(-1);
    node = next->second;
  }
  // An empty token, which files use for padding, is never found.
  if (node != 0) node_ids_[node] = id;
}

std::vector<Unigram::Way> Unigram::best_ways(std::string_view piece) const {
  std::vector<Way> ways(piece.size() + 1);
  const auto offer = [&](std::size_t from, std::size_t to, std::int32_t id, double score) {
    Way& way = ways[to];
    const double sum = score + ways[from].score;
    if (!way.from || sum > way.score) way = {sum, id, from};
  };
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t length = std::max<std::size_t>(first_code_point(piece.substr(at)).length, 1);
    bool has_character = false;
    std::uint32_t node = 0;
    for (std::size_t end = at; end < piece.size();) {
      const auto next = nodes_.find(edge(node, piece[end]));
      if (next == nodes_.end()) break;
      node = next->second;
      ++end;
      const std::int32_t id = node_ids_[node];
      if (id < 0) continue;
      offer(at, end, id, scores_[static_cast<std::size_t>(id)]);
      has_character = has_character || end - at == length;
    }
    if (!has_character) {
      offer(at, at + length, unknown_for(piece.substr(at, length)), unknown_score_);
    }
    at += length;
  }
  return ways;
}

void Unigram::append(std::string_view text, std::vector<std::int32_t>& ids) const {
  if (const auto id = tokens().find(text)) return ids.push_back(*id);
  if (byte_fallback_ && append_byte_tokens(text, ids)) return;
  ids.push_back(unknown_for(text));
}

void Unigram::encode(std::string_view piece, std::vector<std::int32_t>& ids) const {
  const std::vector<Way> ways = best_ways(piece);
  std::vector<std::string_view> texts;  // from the last to the first
  bool after_unknown = false;
  for (std::size_t end = piece.size(); end > 0;) {
    const Way& way = ways[end];
    const bool is_unknown = unknown() && way.id == *unknown();
    if (is_unknown && after_unknown) {
      texts.back() = piece.substr(*way.from, texts.back().size() + end - *way.from);
    } else {
      texts.push_back(piece.substr(*way.from, end - *way.from));
    }
    after_unknown = is_unknown;
    end = *way.from;
  }
  for (auto text = texts.rbegin(); text != texts.rend(); ++text) append(*text, ids);
}

void Unigram::encode_bytes(std::string_view bytes, std::vector<std::int32_t>& ids) const {
  if (byte_fallback_ && append_byte_tokens(bytes, ids)) return;
  ids.push_back(unknown_for(bytes));
}

}  // namespace trivet::tokenizers
