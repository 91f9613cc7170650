// SPDX-License-Identifier: Apache-2.0
// Tokenizer::store: the plugin's tokenizers without their original files.
#include <catch2/catch.hpp>

#include "files.h"

using namespace trivet;
using namespace trivet::test;

TEST_CASE("a stored tokenizer is made again without its files", "[tokenizers]") {
  const auto check = [](const std::string& key, const Value& fields) {
    const TempDir dir;
    const auto first = make_tokenizer(key, fields);
    ConfigOf<Tokenizer> stored = first->store(dir.path());
    CHECK(stored.key() == key);
    Value again = stored.fields();
    Value* file = again.find("file");
    if (file != nullptr) *file = (dir.path() / file->as_string()).string();
    CHECK(make_tokenizer(key, again)->fingerprint() == first->fingerprint());
    return stored;
  };
  check("tokenizers/Bytes", Value::table());
  check("tokenizers/Bytes", Value::table({{"bos", true}, {"eos", true}, {"pad", true}}));
  const TempDir dir;
  const std::string text = dir.write("text.txt", "na\u00efve \"text\"\n\t").string();
  for (const char* unknown : {"bytes", "token", "error"}) {
    const auto stored =
        check("tokenizers/Characters", Value::table({{"files", Value::array({text})},
                                                     {"alphabet", "xyz"},
                                                     {"unknown", unknown},
                                                     {"eos", true}}));
    CHECK(stored.fields().find("files")->items().empty());
  }
  const std::string file =
      dir.write("some.json", tokenizer_json({{"a", "b"}, {"ab", "c"}}, {"<s>"})).string();
  for (const char* bos : {"", "<s>"}) {
    for (const bool match : {true, false}) {
      const auto stored = check(
          "tokenizers/Bpe",
          Value::table({{"file", file}, {"bos_token", bos}, {"match_special_tokens", match}}));
      CHECK(*stored.fields().find("file") == "tokenizer.json");
      const auto other = check(
          "tokenizers/HuggingFace",
          Value::table({{"file", file}, {"bos_token", bos}, {"match_special_tokens", match}}));
      CHECK(*other.fields().find("file") == "tokenizer.json");
    }
  }
}
