// SPDX-License-Identifier: Apache-2.0
// Training of byte-level BPE: against merges computed by hand, an algorithm in plain loops, and
// Hugging Face's reader of the written file (npm: @huggingface/tokenizers).
#include <algorithm>
#include <map>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "plugins/tokenizers/files.h"
#include "support/property.h"
#include "tokenizers/bpe/bpe.h"
#include "tokenizers/bpe/bpe_trainer.h"
#include "tokenizers/bpe/tokenizer_json.h"
#include "tokenizers/bpe/word_counts.h"
#include "trivet/error.h"

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using tokenizers::BpeTraining;
using tokenizers::BpeVocabulary;
using tokenizers::train_bpe;
using tokenizers::WordCounts;
using Ids = std::vector<std::int32_t>;
using Words = std::vector<std::pair<std::string, std::int64_t>>;

namespace {

// "es", "t", ...: the merges as texts.
Merges merges_of(const BpeVocabulary& vocabulary) {
  Merges merges;
  for (const auto& [left, right] : vocabulary.merges) {
    merges.emplace_back(vocabulary.tokens.at(static_cast<std::size_t>(left)),
                        vocabulary.tokens.at(static_cast<std::size_t>(right)));
  }
  return merges;
}

// Algorithm 1 of Sennrich et al. 2016 as published: recounts everything for each merge. Ties go to
// the lower left id, then the lower right one.
Merges reference(const Words& words, const BpeVocabulary& trained, std::size_t count,
                 std::int64_t min_frequency) {
  std::map<std::string, std::size_t> ids;
  for (std::size_t id = 0; id < trained.tokens.size(); ++id) ids.emplace(trained.tokens[id], id);
  std::vector<std::pair<std::vector<std::string>, std::int64_t>> split;
  for (const auto& [text, frequency] : words) {
    split.emplace_back(std::vector<std::string>(), frequency);
    for (const char byte : text) split.back().first.emplace_back(1, byte);
  }
  Merges merges;
  while (merges.size() < count) {
    std::map<std::pair<std::size_t, std::size_t>, std::int64_t> counts;
    for (const auto& [parts, frequency] : split) {
      for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        counts[{ids.at(parts[i]), ids.at(parts[i + 1])}] += frequency;
      }
    }
    const auto best =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best == counts.end() || best->second < min_frequency) break;
    const std::string& left = trained.tokens[best->first.first];
    const std::string& right = trained.tokens[best->first.second];
    merges.emplace_back(left, right);
    for (auto& [parts, frequency] : split) {
      for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        if (parts[i] != left || parts[i + 1] != right) continue;
        parts[i] += right;
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
    }
  }
  return merges;
}

BpeVocabulary trained_on_licences(std::int64_t size, const std::vector<std::string>& special = {}) {
  WordCounts words(special);
  for (const auto& [name, text] : licenses()) words.add(text);
  return train_bpe(words.sorted(), {.vocabulary_size = size, .special_tokens = special});
}

}  // namespace

TEST_CASE("merges match a count by hand", "[tokenizers]") {
  // The words of Sennrich et al. 2016. By count: es 9 = st 9 (e < s), then es+t 9, l+o 7 = o+w 7,
  // lo+w 7; n+e 6 = e+w 6 = w+est 6, and e is the lowest; n+ew, new+est; of the threes the bytes
  // are lower than the tokens: d+est, i+dest, w+idest; then e+r 2 and low+er 2.
  const Words words = {{"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}};
  const BpeVocabulary all = train_bpe(words, {.vocabulary_size = 1000});
  CHECK(merges_of(all) == Merges{{"e", "s"},
                                 {"es", "t"},
                                 {"l", "o"},
                                 {"lo", "w"},
                                 {"e", "w"},
                                 {"n", "ew"},
                                 {"new", "est"},
                                 {"d", "est"},
                                 {"i", "dest"},
                                 {"w", "idest"},
                                 {"e", "r"},
                                 {"low", "er"}});
  CHECK(all.tokens.size() == 256 + 12);
  CHECK(all.tokens.back() == "lower");
  CHECK(train_bpe(words, {.vocabulary_size = 260}).merges.size() == 4);
  CHECK(train_bpe(words, {.vocabulary_size = 1000, .min_frequency = 3}).merges.size() == 10);
  CHECK(train_bpe({{"aaaa", 1}}, {.vocabulary_size = 1000, .min_frequency = 1}).merges.size() == 2);
}

TEST_CASE("training matches a full recount for each merge", "[slow][tokenizers]") {
  check_property([] {
    const auto words = *rc::gen::container<std::map<std::string, int>>(
        rc::gen::container<std::string>(rc::gen::elementOf(std::string("aabc"))),
        rc::gen::inRange(1, 6));
    const Words counts(words.begin(), words.end());
    const auto size = *rc::gen::inRange<std::int64_t>(256, 290);
    const auto least = *rc::gen::inRange<std::int64_t>(1, 4);
    const BpeVocabulary trained =
        train_bpe(counts, {.vocabulary_size = size, .min_frequency = least});
    // Two merges may make one token, so the merges may be more than the tokens.
    RC_ASSERT(merges_of(trained) == reference(counts, trained, trained.merges.size(), least));
    RC_ASSERT(std::ssize(trained.tokens) <= size);
    RC_ASSERT((std::ssize(trained.tokens) == size ||
               reference(counts, trained, trained.merges.size() + 1, least).size() ==
                   trained.merges.size()));
  });
  const BpeVocabulary trained = trained_on_licences(400);
  WordCounts words({});
  for (const auto& [name, text] : licenses()) words.add(text);
  CHECK(trained.merges.size() == 144);
  CHECK(merges_of(trained) == reference(words.sorted(), trained, 144, 2));
}

TEST_CASE("special tokens come first and the bytes in the order of their characters",
          "[tokenizers]") {
  const BpeVocabulary trained =
      train_bpe({{"ab", 2}}, {.vocabulary_size = 300, .special_tokens = {"<s>", "</s>"}});
  CHECK(trained.tokens.size() == 259);
  CHECK(trained.tokens[0] == "<s>");
  CHECK(trained.tokens[1] == "</s>");
  // As in GPT-2's vocabulary: "!" is the first, the byte 0 follows the 188 printable ones.
  CHECK(trained.tokens[2] == "!");
  CHECK(trained.tokens[2 + 188] == std::string(1, '\0'));
  CHECK(trained.tokens[2 + 188 + 32] == " ");
  CHECK(trained.tokens[2 + 255] == "\xAD");
  CHECK(trained.tokens[258] == "ab");
  CHECK(trained.added.size() == 2);
}

TEST_CASE("words are counted the same in one text, in pieces and from files", "[tokenizers]") {
  const TempDir dir;
  // More than one piece of a file, with few or no positions to cut.
  std::string text;
  for (int i = 0; text.size() < 3 << 20; ++i) {
    text +=
        i % 3 == 0 ? "\n\n x" + std::to_string(i) + "\n" : std::string("\u3000 \u00a0\n  y\u00e9 ");
  }
  const std::string unbroken(3 << 20, 'z');
  WordCounts whole({}), files({});
  for (const std::string& part : {text, unbroken, std::string()}) {
    whole.add(part);
    files.add_file(dir.write("part", part));
  }
  CHECK(files.bytes() == text.size() + unbroken.size());
  CHECK(files.sorted() == whole.sorted());
  CHECK_THROWS_AS(files.add_file(dir / "missing"), InputError);
  CHECK_THROWS_AS(files.add_file(dir.path()), InputError);

  WordCounts cut({"<e>"});
  cut.add("ab<e>ab <e>");
  CHECK(cut.sorted() == Words{{" ", 1}, {"ab", 2}});
}

TEST_CASE("a trained tokenizer is read back the same", "[tokenizers]") {
  const TempDir dir;
  const BpeVocabulary trained = trained_on_licences(1000, {"<|endoftext|>", "<pad>"});
  CHECK(trained.tokens.size() == 1000);
  const auto file = dir.write("tokenizer.json", tokenizer_json_text(trained));
  const auto read = bpe_of(file);
  const tokenizers::Bpe direct(trained, {});
  CHECK(read->fingerprint() == direct.fingerprint());
  CHECK(read->eos_id() == 0);
  CHECK(read->pad_id() == 1);
  std::size_t bytes = 0, tokens = 0;
  for (const auto& [name, text] : licenses()) {
    CAPTURE(name);
    const Ids ids = read->encode(text);
    CHECK(ids == direct.encode(text));
    CHECK(read->decode(ids) == text);
    bytes += text.size();
    tokens += ids.size();
  }
  // Bytes alone would be 1, GPT-2's 50257 tokens are some 4.5.
  CHECK(static_cast<double>(bytes) / static_cast<double>(tokens) > 3);
  for (const std::string& text : hard_texts()) CHECK(read->decode(read->encode(text)) == text);
}

TEST_CASE("Hugging Face's library reads the written file and gives the same ids", "[tokenizers]") {
  if (shell("node -e \"require('@huggingface/tokenizers')\"").exit_code != 0) {
    SUCCEED();
    WARN("skipped: there is no @huggingface/tokenizers (npm, with NODE_PATH set)");
    return;
  }
  const TempDir dir;
  const auto file =
      dir.write("tokenizer.json",
                tokenizer_json_text(trained_on_licences(2000, {"<|endoftext|>", "<two words>"})));
  const auto script = dir.write(
      "encode.js",
      "const {Tokenizer} = require('@huggingface/tokenizers');\n"
      "const read = name => require('fs').readFileSync(name, 'utf8');\n"
      "const tokenizer = new Tokenizer(JSON.parse(read(process.argv[2])), {});\n"
      "for (const name of process.argv.slice(3)) {\n"
      "  const ids = tokenizer.encode(read(name)).ids;\n"
      "  const options = {skip_special_tokens: false, clean_up_tokenization_spaces: false};\n"
      "  console.log(JSON.stringify([Array.from(ids), tokenizer.decode(ids, options)]));\n"
      "}\n");
  std::vector<std::string> texts = {"a<|endoftext|>b <two words>", "It's 12 o'clock \u00e9\u4f60"};
  for (const auto& [name, text] : licenses()) texts.push_back(text);
  std::string words = "node " + quoted(script.string()) + " " + quoted(file.string());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    words += " " + quoted(dir.write("text" + std::to_string(i), texts[i]).string());
  }
  const ShellResult result = shell(words);
  INFO(result.output.substr(0, 1000));
  REQUIRE(result.exit_code == 0);
  const auto ours = bpe_of(file);
  std::istringstream lines(result.output);
  std::string line;
  for (const std::string& text : texts) {
    CAPTURE(text.substr(0, 100));
    REQUIRE(std::getline(lines, line));
    const auto answer = nlohmann::json::parse(line);
    CHECK(answer[0].get<Ids>() == ours->encode(text));
    CHECK(answer[1].get<std::string>() == text);
  }
}

TEST_CASE("impossible vocabularies and special tokens are refused", "[tokenizers]") {
  const auto train = [](std::int64_t size, const std::vector<std::string>& special) {
    return train_bpe({{"ab", 2}}, {.vocabulary_size = size, .special_tokens = special});
  };
  CHECK(train(257, {"<s>"}).merges.empty());
  CHECK_THROWS_WITH(train(256, {"<s>"}), Contains("256 tokens") && Contains("257"));
  CHECK_THROWS_AS(train(-1, {}), UsageError);
  CHECK_THROWS_AS(train(std::int64_t{1} << 31, {}), UsageError);
  CHECK_THROWS_WITH(train(300, {""}), Contains("is empty"));
  CHECK_THROWS_WITH(train(300, {"\xff"}), Contains("not UTF-8"));
  CHECK_THROWS_WITH(train(300, {"a\nb"}), Contains("line end"));
  CHECK_THROWS_WITH(train(300, {"<s>", "<s>"}), Contains("twice"));
  CHECK_THROWS_WITH(train(300, {"\u0120"}), Contains("name of a byte"));
  // " ab" would have the name of the special token in files.
  const BpeVocabulary near =
      train_bpe({{" ab", 9}}, {.vocabulary_size = 300, .special_tokens = {"\u0120ab"}});
  const TempDir dir;
  const auto read = bpe_of(dir.write("tokenizer.json", tokenizer_json_text(near)));
  CHECK(read->decode(read->encode(" ab \u0120ab")) == " ab \u0120ab");
}
