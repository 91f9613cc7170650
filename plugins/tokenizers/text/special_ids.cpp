// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/text/special_ids.h"

#include <initializer_list>

#include "trivet/error.h"

namespace trivet::tokenizers {
namespace {

using Find = std::function<std::optional<std::int32_t>(const std::string&)>;

std::optional<std::int32_t> id_of(const char* field, const std::optional<std::string>& token,
                                  std::initializer_list<const char*> usual, const Find& find) {
  if (!token) {
    for (const char* name : usual) {
      if (const auto id = find(name)) return id;
    }
    return std::nullopt;
  }
  if (token->empty()) return std::nullopt;
  if (const auto id = find(*token)) return id;
  throw ConfigError(Diagnostic{.path = field,
                               .what = "the vocabulary has no special token \"" + *token + "\"",
                               .hint = "trivet tokenizer info FILE lists them"});
}

}  // namespace

SpecialIds special_ids(const SpecialTokensConfig& config, const Find& find) {
  return {.bos = id_of("bos_token", config.bos_token,
                       {"<s>", "<bos>", "<|begin_of_text|>", "<|endoftext|>"}, find),
          .eos = id_of("eos_token", config.eos_token,
                       {"</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>"}, find),
          .pad = id_of("pad_token", config.pad_token, {"<pad>", "[PAD]"}, find)};
}

}  // namespace trivet::tokenizers
