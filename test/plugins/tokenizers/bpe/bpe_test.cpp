// SPDX-License-Identifier: Apache-2.0
// tokenizers/Bpe with small vocabularies whose results can be computed by hand.
#include <algorithm>
#include <map>
#include <thread>

#include <catch2/catch.hpp>

#include "plugins/tokenizers/files.h"
#include "support/property.h"
#include "tokenizers/text/gpt2_pre_tokenizer.h"
#include "trivet/error.h"
#include "trivet/text/utf8_stream.h"

namespace tokenizers_bpe_test {

using namespace trivet;
using namespace trivet::test;
using Ids = std::vector<std::int32_t>;

namespace {

// Merges of frequent English pairs, so that random words contain some.
const Merges kMerges = {{"t", "h"},   {"a", "b"}, {"th", "e"},  {" ", "the"},
                        {"b", "c"},   {"a", "a"}, {"aa", "aa"}, {"i", "n"},
                        {"in", "in"}, {"b", "b"}, {"ab", "ab"}};

std::unique_ptr<Tokenizer> tiny(const Merges& merges = kMerges,
                                const std::vector<std::string>& special = {}) {
  const TempDir dir;
  return bpe_of(dir.write("tokenizer.json", tokenizer_json(merges, special)));
}

// GPT-2's encoder.py, `bpe`: while a merge applies, the earliest one is applied to all positions
// from left to right.
Ids reference(const Merges& merges, const std::string& word) {
  std::map<std::pair<std::string, std::string>, std::size_t> ranks;
  std::map<std::string, std::int32_t> ids;
  for (int byte = 0; byte < 256; ++byte) ids[std::string(1, static_cast<char>(byte))] = byte;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    ranks[merges[i]] = i;
    ids.emplace(merges[i].first + merges[i].second, static_cast<std::int32_t>(256 + i));
  }
  std::vector<std::string> parts;
  for (const char byte : word) parts.emplace_back(1, byte);
  while (true) {
    auto best = ranks.end();
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ranks.find({parts[i], parts[i + 1]});
      if (found != ranks.end() && (best == ranks.end() || found->second < best->second)) {
        best = found;
      }
    }
    if (best == ranks.end()) break;
    std::vector<std::string> merged;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool here = i + 1 < parts.size() && parts[i] == best->first.first &&
                        parts[i + 1] == best->first.second;
      merged.push_back(here ? parts[i] + parts[i + 1] : parts[i]);
      i += here ? 1 : 0;
    }
    parts = merged;
  }
  Ids result;
  for (const std::string& part : parts) result.push_back(ids.at(part));
  return result;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    words.emplace_back(text.substr(0, tokenizers::gpt2_word_length(text)));
    text.remove_prefix(words.back().size());
  }
  return words;
}

}  // namespace

TEST_CASE("text is cut into the words of GPT-2's pattern", "[tokenizers]") {
  using Parts = std::vector<std::string>;
  // By hand from the pattern in gpt2_pre_tokenizer.h.
  CHECK(words_of("It's  12%") == Parts{"It", "'s", " ", " 12", "%"});
  CHECK(words_of("we'll don't I'D ''re") ==
        Parts{"we", "'ll", " don", "'t", " I", "'", "D", " ''", "re"});
  CHECK(words_of("'re''ve'm'd'x") == Parts{"'re", "''", "ve", "'m", "'d", "'", "x"});
  CHECK(words_of("a \n\n b\n\nc  ") == Parts{"a", " \n\n", " b", "\n", "\n", "c", "  "});
  CHECK(words_of("\t\tx\ty") == Parts{"\t", "\t", "x", "\t", "y"});
  CHECK(words_of("x1\u00b2\u0663\u2167?!") == Parts{"x", "1\u00b2\u0663\u2167", "?!"});
  CHECK(words_of("na\u00efve \u4f60\u597d\u3002") ==
        Parts{"na\u00efve", " \u4f60\u597d", "\u3002"});
  // A combining mark is not a letter; a no-break space is a space, but does not match " ?".
  CHECK(words_of("e\u0301a \u00a0b\u00a0c") ==
        Parts{"e", "\u0301", "a", " ", "\u00a0", "b", "\u00a0", "c"});
  CHECK(words_of("a\xff\xc3 \xe2\x82z\x80") == Parts{"a", "\xff\xc3", " \xe2\x82", "z", "\x80"});
}

TEST_CASE("merges are applied in their order, the leftmost first", "[tokenizers]") {
  const auto tokenizer = tiny();
  CHECK(tokenizer->vocabulary_size() == 267);
  CHECK(tokenizer->encode("the") == Ids{258});
  CHECK(tokenizer->encode("the the") == Ids{258, 259});
  CHECK(tokenizer->encode("abc") == Ids{257, 'c'});  // "ab" is earlier than "bc"
  CHECK(tokenizer->encode("bbc") == Ids{'b', 260});  // "bc" is earlier than "bb"
  CHECK(tokenizer->encode("aaa") == Ids{261, 'a'});  // the left pair first
  CHECK(tokenizer->encode("aaaaa") == Ids{262, 'a'});
  CHECK(tokenizer->encode("t h") == Ids{'t', ' ', 'h'});  // no merge crosses words
  CHECK(tokenizer->encode("").empty());
}

TEST_CASE("random words get the ids of GPT-2's own algorithm", "[tokenizers]") {
  const auto tokenizer = tiny();
  check_property([&] {
    const auto size = *rc::gen::inRange<std::size_t>(0, 80);
    const std::string word =
        *rc::gen::container<std::string>(size, rc::gen::elementOf(std::string("abctheine")));
    RC_ASSERT(tokenizer->encode(word) == reference(kMerges, word));
  });
}

TEST_CASE("a word of a million bytes is encoded", "[tokenizers]") {
  const auto tokenizer = tiny();
  const std::string word(1000001, 'a');
  const Ids ids = tokenizer->encode(word);
  CHECK(ids.size() == 250001);
  CHECK(tokenizer->decode(ids) == word);
}

TEST_CASE("every byte string comes back", "[tokenizers]") {
  const auto tokenizer = tiny(kMerges, {"<|endoftext|>"});
  for (const std::string& text : hard_texts()) {
    CAPTURE(text);
    CHECK(tokenizer->decode(tokenizer->encode(text)) == text);
  }
  for (const auto& [name, text] : licenses()) {
    CAPTURE(name);
    CHECK(tokenizer->decode(tokenizer->encode(text)) == text);
  }
  check_property([&](const std::vector<std::uint8_t>& bytes) {
    const std::string text(bytes.begin(), bytes.end());
    RC_ASSERT(tokenizer->decode(tokenizer->encode(text)) == text);
  });
}

TEST_CASE("streamed text arrives in whole characters", "[tokenizers]") {
  const auto tokenizer = tiny();
  for (const std::string& text : hard_texts()) {
    Utf8Stream stream;
    std::string shown;
    for (const std::int32_t id : tokenizer->encode(text)) {
      shown += stream.push(tokenizer->token_text(id));
    }
    CHECK(shown + stream.finish() == text);
  }
}

TEST_CASE("special tokens are found before words, the longest first", "[tokenizers]") {
  const auto tokenizer = tiny({{"t", "h"}, {"<", "/"}}, {"<s>", "<s>>", "</s>", "<pad>", "\u2581"});
  CHECK(tokenizer->encode("th<s>th") == Ids{256, 258, 256});
  CHECK(tokenizer->encode("<s>>") == Ids{259});
  CHECK(tokenizer->encode("</<s>") == Ids{257, 258});
  CHECK(tokenizer->encode("\u2581t\u2581") == Ids{262, 't', 262});
  CHECK(tokenizer->decode(Ids{258, 't', 260}) == "<s>t</s>");
  CHECK(tokenizer->bos_id() == 258);
  CHECK(tokenizer->eos_id() == 260);
  CHECK(tokenizer->pad_id() == 261);
  CHECK_FALSE(tokenizer->unknown_id());
  CHECK(tokenizer->token_id("</s>") == 260);
  CHECK(tokenizer->token_id("th") == 256);
  CHECK_FALSE(tokenizer->token_id("ht"));
  CHECK(tokenizer->is_special(262));
  CHECK_FALSE(tokenizer->is_special(256));
}

TEST_CASE("special tokens in a text may be text", "[tokenizers]") {
  const TempDir dir;
  const std::string file =
      dir.write("tokenizer.json", tokenizer_json({{"t", "h"}}, {"<s>"})).string();
  const auto plain = make_tokenizer(
      "tokenizers/Bpe", Value::table({{"file", file}, {"match_special_tokens", false}}));
  CHECK(plain->encode("th<s>") == Ids{256, '<', 's', '>'});
  CHECK(plain->decode(Ids{257}) == "<s>");
  CHECK(plain->bos_id() == 257);
  CHECK(plain->fingerprint() != bpe_of(file)->fingerprint());
}

TEST_CASE("the config names special tokens where their names are not the usual ones",
          "[tokenizers]") {
  const TempDir dir;
  const std::string file =
      dir.write("tokenizer.json", tokenizer_json(kMerges, {"<|endoftext|>", "[END]"})).string();
  const auto with = [&](const Value& token) {
    return make_tokenizer("tokenizers/Bpe", Value::table({{"file", file}, {"eos_token", token}}));
  };
  CHECK(with("[END]")->eos_id() == 268);
  CHECK(with("[END]")->bos_id() == 267);
  CHECK_FALSE(with("")->eos_id());
  CHECK(with("[END]")->fingerprint() != with("")->fingerprint());
  CHECK_THROWS_WITH(with("<end>"),
                    Catch::Contains("no special token \"<end>\"") && Catch::Contains("eos_token"));
  CHECK_THROWS_WITH(with("the"), Catch::Contains("no special token \"the\""));
}

TEST_CASE("ids that are out of range are refused", "[tokenizers]") {
  const auto tokenizer = tiny();
  for (const std::int32_t id : {-1, 267, 2147483647}) {
    CAPTURE(id);
    CHECK_THROWS_WITH(tokenizer->decode(Ids{'a', id}),
                      Catch::Contains(std::to_string(id)) && Catch::Contains("0 to 266"));
    CHECK_THROWS_AS(tokenizer->token_text(id), InputError);
    CHECK_THROWS_AS(tokenizer->is_special(id), InputError);
  }
}

TEST_CASE("a fingerprint covers everything that affects ids, and nothing else", "[tokenizers]") {
  const std::string fingerprint = tiny()->fingerprint();
  CHECK(tiny()->fingerprint() == fingerprint);
  CHECK(tiny(kMerges, {"<s>"})->fingerprint() != fingerprint);
  Merges swapped = kMerges;
  std::swap(swapped[4], swapped[9]);
  CHECK(tiny(swapped)->fingerprint() != fingerprint);
  // The same tokens, with merges that differ only in their right parts.
  const std::string file = tokenizer_json({{"a", "b"}, {"a", "c"}});
  std::string other = file;
  other.replace(other.find("\"a b\",\"a c\""), 11, "\"a c\",\"a b\"");
  const TempDir dir;
  CHECK(bpe_of(dir.write("a.json", file))->fingerprint() !=
        bpe_of(dir.write("b.json", other))->fingerprint());
}

TEST_CASE("many threads may encode at the same time", "[tokenizers]") {
  const auto tokenizer = tiny();
  const std::string text = "the aab inin bbc abab 12 the\n";
  const Ids expected = tokenizer->encode(text);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 500; ++n) {
        const std::string own = text + std::to_string(n * 7 + static_cast<int>(i));
        Ids ids = tokenizer->encode(own);
        wrong[i] += tokenizer->decode(ids) != own ||
                    !std::equal(expected.begin(), expected.end(), ids.begin());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4));
}

}  // namespace tokenizers_bpe_test
