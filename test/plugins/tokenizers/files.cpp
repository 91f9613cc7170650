// SPDX-License-Identifier: Apache-2.0
#include "files.h"

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "trivet/text/utf8.h"

namespace trivet::test {

std::string gpt2_character(int byte) {
  const auto visible = [](int b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
  };
  char32_t character = static_cast<char32_t>(byte);
  if (!visible(byte)) {
    character = 256;
    for (int b = 0; b < byte; ++b) character += visible(b) ? 0 : 1;
  }
  std::string text;
  append_utf8(character, text);
  return text;
}

std::string tokenizer_json(const Merges& merges, const std::vector<std::string>& special) {
  nlohmann::json vocab = nlohmann::json::object(), list = nlohmann::json::array(),
                 added = nlohmann::json::array();
  for (int byte = 0; byte < 256; ++byte) vocab[gpt2_character(byte)] = byte;
  const auto shown = [](const std::string& text) {
    std::string characters;
    for (const char byte : text) characters += gpt2_character(static_cast<unsigned char>(byte));
    return characters;
  };
  for (const auto& [left, right] : merges) {
    vocab.emplace(shown(left + right), vocab.size());
    list.push_back(shown(left) + " " + shown(right));
  }
  for (const std::string& content : special) {
    added.push_back({{"id", vocab.size() + added.size()}, {"content", content}, {"special", true}});
  }
  const nlohmann::json file = {
      {"version", "1.0"},
      {"added_tokens", added},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", list}}}};
  return file.dump();
}

std::vector<std::string> hard_texts() {
  return {
      "",
      " ",
      "\n\n  \t \n",
      "It's we'll they'd I've you're can't I'm 'S ''s 's",
      "a  b   c\n\n\nd \n e\t\tf  ",
      "x1y22z333 4,5.6-7",
      "gr\u00fc\u00df dich \u4f60\u597d "
      "\u0417\u0434\u0440\u0430\u0432\u0441\u0442\u0432\u0443\u0439 "
      "\u0639\u0631\u0628\u064a \u0e44\u0e17\u0e22 e\u0301 \u01c5 \u02b0",
      "\u0663\u0664 \u2167 \u00bd \u00b2x \u3007",
      "a\u00a0b \u3000c\u2028d\u2003 \u2003e\u202f",
      "\U0001F469\u200D\U0001F4BB!! \U0001F642\u2764\ufe0f \u200b",
      std::string("nul\0 and \x01\x7f", 11),
      "\xff\xfe \x80 half \xe2\x82",
      "\xed\xa0\x80\xc0\xaf\xf5 \xf0\x9f\x99",
  };
}

std::vector<std::pair<std::string, std::string>> licenses() {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/share/common-licenses")) {
    if (entry.is_regular_file()) texts.emplace_back(entry.path().string(), read_file(entry.path()));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

}  // namespace trivet::test
