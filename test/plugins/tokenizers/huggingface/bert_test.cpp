// SPDX-License-Identifier: Apache-2.0
// tokenizers/Bert: ids of a vocab.txt as in the paper's code, and files that are none.
#include "tokenizers/huggingface/bert.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "support/shell.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"

namespace tokenizers_bert_test {

using namespace trivet;
using Catch::Contains;
using Ids = std::vector<std::int32_t>;

namespace {

// The vocabulary of tokenization_test.py of the paper's code, and two accents.
constexpr const char* kWords =
    "[UNK]\n[CLS]\n[SEP]\nwant\n##want\n##ed\nwa\nun\nrunn\n##ing\n,\ncafe\ncaf\xC3\xA9\n";

tokenizers::Bert made(const test::TempDir& temp, const std::string& text, bool lower_case = true) {
  tokenizers::BertConfig config;
  config.file = temp.write("vocab.txt", text).string();
  config.lower_case = lower_case;
  return tokenizers::Bert(config);
}

}  // namespace

TEST_CASE("a vocab.txt gives the ids of BERT's own code") {
  const test::TempDir temp;
  const tokenizers::Bert bert = made(temp, kWords);
  CHECK(bert.vocabulary_size() == 13);
  // testFullTokenizer: "UNwant\u00E9d,running" is un ##want ##ed , runn ##ing.
  CHECK(bert.encode("UNwant\xC3\xA9"
                    "d,running") == Ids{7, 4, 5, 10, 8, 9});
  // testWordpieceTokenizer.
  CHECK(bert.encode("") == Ids{});
  CHECK(bert.encode("unwanted running") == Ids{7, 4, 5, 8, 9});
  CHECK(bert.encode("unwantedX running") == Ids{0, 8, 9});
  CHECK(bert.encode("caf\xC3\xA9") == Ids{11});
  CHECK(bert.decode(bert.encode("unwanted, running")) == "unwanted, running");
  CHECK(bert.token_id("[SEP]") == 2);
  CHECK(bert.is_special(1));
  CHECK_FALSE(bert.is_special(3));
  CHECK(bert.unknown_id() == 0);
  CHECK(bert.encode("[SEP]") == Ids{2});

  const tokenizers::Bert cased = made(temp, kWords, false);
  CHECK(cased.encode("caf\xC3\xA9 Want want") == Ids{12, 0, 3});
  CHECK(cased.fingerprint() != bert.fingerprint());
}

TEST_CASE("lines of a vocab.txt may end as on Windows, the last one without an end") {
  const test::TempDir temp;
  const tokenizers::Bert bert = made(temp, "[UNK]\r\nwant\r\n##ed");
  CHECK(bert.vocabulary_size() == 3);
  CHECK(bert.encode("wanted") == Ids{1, 2});
}

TEST_CASE("a run keeps the vocabulary as a tokenizer.json") {
  const test::TempDir temp;
  test::use_plugin("tokenizers");
  const std::string file = temp.write("vocab.txt", kWords).string();
  const auto bert = make(ConfigOf<Tokenizer>("tokenizers/Bert", Value::table({{"file", file}})));
  const test::TempDir folder;
  const ConfigOf<Tokenizer> kept = bert->store(folder.path());
  CHECK(kept.key() == "tokenizers/HuggingFace");
  Value fields = kept.fields();
  fields.set("file", (folder.path() / "tokenizer.json").string());
  const auto again = make(ConfigOf<Tokenizer>("tokenizers/HuggingFace", std::move(fields)));
  CHECK(again->fingerprint() == bert->fingerprint());
  CHECK(again->encode("unwanted, running") == bert->encode("unwanted, running"));
}

TEST_CASE("a file that is no vocab.txt is refused with its line") {
  const test::TempDir temp;
  const auto refused = [&](const std::string& text, const std::string& why) {
    CHECK_THROWS_WITH(made(temp, text), Contains("vocab.txt") && Contains(why));
  };
  refused("[UNK]\nwant\n\n##ed\n", "vocab.txt:3: the line has no token");
  refused("[UNK]\nwant\nrunn\nwant\n", "vocab.txt:4: repeats the token of line 2");
  refused("[UNK]\n\xFF\xFE\n", "vocab.txt:2: the token is not UTF-8");
  refused("want\n##ed\n", "has no token [UNK]");
  refused("", "has no token [UNK]");
  refused("{\"model\": 1}", "has no token [UNK]");
  tokenizers::BertConfig config;
  config.file = (temp.path() / "none.txt").string();
  CHECK_THROWS_WITH(tokenizers::Bert(config), Contains("none.txt"));
}

}  // namespace tokenizers_bert_test
