// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/bpe/gpt2_files.h"

#include <algorithm>
#include <string_view>

#include <fmt/core.h>

#include "tokenizers/bpe/bpe_builder.h"
#include "tokenizers/text/json_file.h"
#include "trivet/error.h"

namespace trivet::tokenizers {
namespace {

void read_merges(std::string_view text, const std::string& source, BpeBuilder& builder) {
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view merge = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (merge.ends_with('\r')) merge.remove_suffix(1);
    if (merge.empty() || (line == 1 && merge.starts_with("#version"))) continue;
    const std::size_t space = merge.find(' ');
    if (space == std::string_view::npos || merge.find(' ', space + 1) != std::string_view::npos) {
      throw InputError(
          fmt::format("{}:{}: expected two tokens separated by a space", source, line));
    }
    builder.add_merge(std::string(merge.substr(0, space)), std::string(merge.substr(space + 1)));
  }
}

}  // namespace

BpeVocabulary read_gpt2_files(const std::filesystem::path& vocab,
                              const std::filesystem::path& merges,
                              const std::optional<std::vector<std::string>>& special_tokens) {
  const std::string source = vocab.string();
  const nlohmann::json tokens = parse_json(read_text(vocab), source);
  if (!tokens.is_object()) throw InputError(source + ": expected an object of tokens and ids");
  BpeBuilder builder(source + " with " + merges.string());
  for (const auto& [text, id] : tokens.items()) {
    if (!id.is_number_integer()) {
      throw InputError(source + ": the id of \"" + text + "\" is not an integer");
    }
    builder.add_token(text, id.get<std::int64_t>());
  }
  const std::vector<std::string> usual = {"<|endoftext|>"};
  for (const std::string& token : special_tokens.value_or(usual)) {
    const auto id = builder.find(token);
    if (!id && !special_tokens) continue;
    if (!id) throw InputError(source + " has no special token \"" + token + "\"");
    builder.add_added({.id = *id, .content = token, .special = true});
  }
  builder.finish_tokens();
  read_merges(read_text(merges), merges.string(), builder);
  return builder.finish();
}

}  // namespace trivet::tokenizers
