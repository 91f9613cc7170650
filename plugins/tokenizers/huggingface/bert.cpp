// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/huggingface/bert.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "tokenizers/text/json_file.h"
#include "trivet/error.h"
#include "trivet/text/utf8.h"

namespace trivet::tokenizers {
namespace {

using nlohmann::json;

constexpr const char* kBertUnknown = "[UNK]";

// The tokens with their ids.
json vocabulary_of(std::string_view text, const std::string& source) {
  json tokens = json::object();
  for (std::int32_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view token = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (token.ends_with('\r')) token.remove_suffix(1);
    const auto fail = [&](const std::string& what) {
      throw InputError(fmt::format("{}:{}: {}", source, line, what),
                       {.hint = "a vocab.txt has one token in each line"});
    };
    if (token.empty()) fail("the line has no token");
    if (find_invalid_utf8(token)) fail("the token is not UTF-8");
    const auto [known, is_new] = tokens.emplace(std::string(token), line - 1);
    if (!is_new) {
      fail(fmt::format("repeats the token of line {}", known->get<std::int32_t>() + 1));
    }
  }
  if (tokens.contains(kBertUnknown)) return tokens;
  throw InputError(source + ": has no token [UNK], the token of unknown words",
                   {.hint = "is it the vocab.txt of a BERT?"});
}

std::string json_of(const BertConfig& config) {
  const std::string& source = config.file.text;
  json tokens = vocabulary_of(read_text(source), source);
  json added = json::array();
  for (const char* name : {"[PAD]", kBertUnknown, "[CLS]", "[SEP]", "[MASK]"}) {
    if (!tokens.contains(name)) continue;
    added.push_back({{"id", tokens.at(name)},
                     {"content", name},
                     {"special", true},
                     {"normalized", false},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false}});
  }
  return json{{"version", "1.0"},
              {"added_tokens", std::move(added)},
              {"normalizer",
               {{"type", "BertNormalizer"},
                {"clean_text", true},
                {"handle_chinese_chars", true},
                {"strip_accents", nullptr},
                {"lowercase", config.lower_case}}},
              {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
              {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
              {"model",
               {{"type", "WordPiece"},
                {"unk_token", kBertUnknown},
                {"continuing_subword_prefix", "##"},
                {"max_input_chars_per_word", 100},
                {"vocab", std::move(tokens)}}}}
      .dump();
}

HuggingFaceConfig parts_of(const BertConfig& config) {
  HuggingFaceConfig parts;
  static_cast<SpecialTokensConfig&>(parts) = config;
  parts.file = config.file;
  parts.match_special_tokens = config.match_special_tokens;
  return parts;
}

}  // namespace

Bert::Bert(const Config& config) : HuggingFace(json_of(config), parts_of(config)) {}

}  // namespace trivet::tokenizers
