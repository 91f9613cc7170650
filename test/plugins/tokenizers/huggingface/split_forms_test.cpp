// SPDX-License-Identifier: Apache-2.0
// Byte-level BPE behind other pre-tokenizers and normalizers than GPT-2's, against two other
// readers of tokenizer.json (peers.h).
#include <catch2/catch.hpp>

#include "forms.h"
#include "plugins/tokenizers/peer_check.h"

namespace split_forms_test {

using namespace trivet;
using namespace trivet::test;
using Json = nlohmann::json;

namespace {

Json bytes(bool use_regex = false, bool add_prefix_space = false) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

Json then_bytes(const Json& first) {
  return {{"type", "Sequence"}, {"pretokenizers", {first, bytes()}}};
}

constexpr std::size_t kFewTexts = 2000;

// \s of JavaScript, and its trim(), take U+FEFF for a blank and U+0085 for none.
const auto kBlanks = contains_any({"\u0085", "\ufeff"});

}  // namespace

TEST_CASE("the forms of Llama 3, GPT-4, GPT-4o and Qwen 2 have the ids of other readers",
          "[tokenizers][slow]") {
  for (const char* regex : {kLlama3Regex, kGpt4Regex, kGpt4oRegex, kQwen2Regex}) {
    CAPTURE(regex);
    check_peers(byte_level_file(split_then_bytes(regex)), {.lossless = true});
  }
  Json file = byte_level_file(split_then_bytes(kLlama3Regex));
  file["model"]["ignore_merges"] = true;
  check_peers(file, {.lossless = true});
}

TEST_CASE("normal forms have the ids of other readers", "[tokenizers][slow]") {
  for (const char* form : {"NFC", "NFD", "NFKC", "NFKD"}) {
    CAPTURE(form);
    const bool common = std::string(form) == "NFC" || std::string(form) == "NFKC";
    check_peers(byte_level_file(split_then_bytes(kQwen2Regex), {{"type", form}}),
                {.texts = common ? 10'000 : kFewTexts});
  }
}

TEST_CASE("other normalizers have the ids of other readers", "[tokenizers][slow]") {
  const auto check = [](const Json& normalizer, PeerCheck how) {
    CAPTURE(normalizer);
    how.texts = kFewTexts;
    check_peers(byte_level_file(split_then_bytes(kQwen2Regex), normalizer), how);
  };
  // JavaScript has a rule for the sigma at the end of a word.
  check({{"type", "Lowercase"}}, {.javascript_differs = contains_any({"\u03a3"})});
  check({{"type", "StripAccents"}}, {});
  for (const bool left : {true, false}) {
    check({{"type", "Strip"}, {"strip_left", left}, {"strip_right", !left}},
          {.javascript_differs = kBlanks});
  }
  check({{"type", "Replace"}, {"pattern", {{"Regex", "\\s+"}}}, {"content", " "}}, {});
  check({{"type", "Replace"}, {"pattern", {{"String", "e"}}}, {"content", "3e"}}, {});
  check(
      {{"type", "Sequence"},
       {"normalizers", {{{"type", "NFKD"}}, {{"type", "StripAccents"}}, {{"type", "Lowercase"}}}}},
      {.javascript_differs = contains_any({"\u03a3", "\U0001D6BA", "\U0001D6F4"})});
  // JavaScript puts it before nothing, too.
  check({{"type", "Sequence"},
         {"normalizers", {{{"type", "StripAccents"}}, {{"type", "Prepend"}, {"prepend", "_"}}}}},
        {.javascript = false});
}

TEST_CASE("each behavior of Split has the ids of the library", "[tokenizers][slow]") {
  for (const char* behavior :
       {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}) {
    for (const bool invert : {false, true}) {
      CAPTURE(behavior, invert);
      // The JavaScript reader knows Removed and Isolated, and drops what does not match if
      // inverted.
      const bool known = std::string(behavior) == "Isolated" || std::string(behavior) == "Removed";
      check_peers(byte_level_file(split_then_bytes("\\p{N}|\\s|[aeiou]", behavior, invert)),
                  {.texts = kFewTexts, .javascript = known && !invert});
    }
  }
  const Json literal = {{"type", "Split"},
                        {"pattern", {{"String", "the"}}},
                        {"behavior", "MergedWithPrevious"},
                        {"invert", false}};
  check_peers(byte_level_file(then_bytes(literal)), {.texts = kFewTexts, .javascript = false});
}

TEST_CASE("other pre-tokenizers have the ids of other readers", "[tokenizers][slow]") {
  check_peers(byte_level_file(bytes(true)), {.lossless = true, .javascript_differs = kBlanks});
  check_peers(byte_level_file(bytes(true, true)),
              {.texts = kFewTexts, .javascript_differs = kBlanks});
  check_peers(byte_level_file(bytes()), {.texts = kFewTexts, .lossless = true});
  const auto check = [](const Json& first, PeerCheck how) {
    CAPTURE(first);
    how.texts = kFewTexts;
    check_peers(byte_level_file(then_bytes(first)), how);
  };
  // The JavaScript reader knows the digits and word characters of ASCII alone.
  for (const bool individual : {true, false}) {
    check({{"type", "Digits"}, {"individual_digits", individual}},
          {.javascript_differs = &is_not_ascii});
  }
  check({{"type", "Whitespace"}}, {.javascript_differs = &is_not_ascii});
  check({{"type", "WhitespaceSplit"}}, {.javascript_differs = kBlanks});
  check({{"type", "BertPreTokenizer"}}, {.javascript_differs = kBlanks});
  // It joins neighbors, whatever the behavior.
  check({{"type", "Punctuation"}, {"behavior", "Contiguous"}}, {});
  check({{"type", "Punctuation"}, {"behavior", "Isolated"}}, {.javascript = false});
  check({{"type", "CharDelimiterSplit"}, {"delimiter", "e"}}, {.javascript = false});
}

TEST_CASE("added tokens are found as other readers find them", "[tokenizers][slow]") {
  for (const char* flag : {"", "single_word", "lstrip", "rstrip", "normalized"}) {
    for (const bool lower : {true, false}) {
      CAPTURE(flag, lower);
      const Json normalizer = lower ? Json{{"type", "Lowercase"}} : Json();
      Json file = byte_level_file(split_then_bytes(kLlama3Regex), normalizer);
      std::int64_t next = static_cast<std::int64_t>(file["model"]["vocab"].size());
      const auto add = [&](const std::string& content, bool special) {
        Json token = added_token(next, content, special);
        const Json& vocab = file["model"]["vocab"];
        if (vocab.contains(content)) {
          token["id"] = vocab[content];
        } else {
          ++next;
        }
        if (*flag != 0) token[flag] = true;
        file["added_tokens"].push_back(token);
      };
      add("<mask>", true);
      add("word", false);
      add("The", false);
      add("HTTP", true);
      add("\u4f60\u597d", false);
      PeerCheck how{.texts = kFewTexts, .javascript_differs = contains_any({"\u03a3"})};
      // The library's text of "The" is "the", because it normalizes the token itself.
      how.rust_text = !lower;
      // The JavaScript reader does not know single_word, and takes other blanks away.
      how.javascript = std::string(flag) == "" || std::string(flag) == "normalized";
      check_peers(file, how);
    }
  }
}

}  // namespace split_forms_test
