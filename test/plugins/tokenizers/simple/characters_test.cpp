// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/simple/characters.h"

#include <catch2/catch.hpp>

#include "plugins/config_round_trip.h"
#include "plugins/tokenizers/files.h"
#include "support/property.h"
#include "trivet/error.h"

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Ids = std::vector<std::int32_t>;

namespace {

std::unique_ptr<Tokenizer> characters(const Value& fields) {
  return make_tokenizer("tokenizers/Characters", fields);
}

}  // namespace

TEST_CASE("ids of characters follow code points, for any order and repetition", "[tokenizers]") {
  const auto tokenizer = characters(Value::table({{"alphabet", "b\u00e9a\U0001F642ab\n"}}));
  CHECK(tokenizer->vocabulary_size() == 5 + 256);
  CHECK(tokenizer->encode("\nab\u00e9\U0001F642") == Ids{0, 1, 2, 3, 4});
  CHECK(tokenizer->encode("c\u00e8") == Ids{5 + 'c', 5 + 0xC3, 5 + 0xA8});
  CHECK(tokenizer->decode(Ids{3, 5 + 'c'}) ==
        "\u00e9"
        "c");
  CHECK(tokenizer->token_id("\U0001F642") == 4);
  CHECK_FALSE(tokenizer->unknown_id());
  const auto again = characters(Value::table({{"alphabet", "\nab\u00e9\U0001F642"}}));
  CHECK(again->fingerprint() == tokenizer->fingerprint());
  const auto other = characters(Value::table({{"alphabet", "\nac\u00e9\U0001F642"}}));
  CHECK(other->vocabulary_size() == tokenizer->vocabulary_size());
  CHECK(other->fingerprint() != tokenizer->fingerprint());
}

TEST_CASE("with bytes for the unknown every byte string comes back", "[tokenizers]") {
  const auto tokenizer = characters(Value::table({{"alphabet", "etaoin \u00e9"}, {"eos", true}}));
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

TEST_CASE("the alphabet may be that of files", "[tokenizers]") {
  const TempDir dir;
  const auto file = dir.write("a.txt", "hellohellohellohellohellohello\xff\xe2\x82");
  const auto other = dir.write("b.txt", "\u00e9");
  const auto tokenizer = characters(
      Value::table({{"files", Value::array({file.string(), other.string()})}, {"alphabet", "z"}}));
  CHECK(tokenizer->vocabulary_size() == 6 + 256);
  CHECK(tokenizer->encode("ehloz\u00e9") == Ids{0, 1, 2, 3, 4, 5});
  const auto same = characters(Value::table({{"alphabet", "ehloz\u00e9"}}));
  CHECK(same->fingerprint() == tokenizer->fingerprint());
  dir.write("b.txt", "\xff");
  CHECK_THROWS_WITH(characters(Value::table({{"files", Value::array({other.string()})}})),
                    Contains("is no text"));
  dir.write("b.txt", "");
  CHECK_THROWS_WITH(characters(Value::table({{"files", Value::array({other.string()})}})),
                    Contains("no characters"));
  CHECK_THROWS_AS(characters(Value::table({{"files", Value::array({(dir / "missing").string()})}})),
                  InputError);
}

TEST_CASE("characters outside the alphabet are one token, or an error", "[tokenizers]") {
  const auto token = characters(
      Value::table({{"alphabet", "abc"}, {"unknown", "token"}, {"bos", true}, {"pad", true}}));
  CHECK(token->vocabulary_size() == 6);
  CHECK(token->encode("ax\u00e9\xff") == Ids{0, 3, 3, 3});
  CHECK(token->decode(Ids{0, 3, 4, 5}) == "a<unk><bos><pad>");
  CHECK(token->unknown_id() == 3);
  CHECK(token->bos_id() == 4);
  CHECK(token->pad_id() == 5);
  CHECK(token->is_special(5));
  CHECK_FALSE(token->is_special(3));
  CHECK_THROWS_AS(token->decode(Ids{6}), InputError);

  const auto strict = characters(Value::table({{"alphabet", "abc"}, {"unknown", "error"}}));
  CHECK(strict->vocabulary_size() == 3);
  CHECK(strict->encode("cab") == Ids{2, 0, 1});
  CHECK_THROWS_WITH(strict->encode("ab\u00e9"), Contains("U+00E9") && Contains("byte 2"));
  CHECK_THROWS_WITH(strict->encode("ab\xff"), Contains("byte 2"));
  CHECK(strict->fingerprint() != token->fingerprint());
}

TEST_CASE("the config of characters has rules and survives the way to a file", "[tokenizers]") {
  tokenizers::CharactersConfig config;
  config.alphabet = "abc";
  config.files = {Path("a.txt")};
  config.unknown = tokenizers::UnknownCharacter::token;
  config.eos = true;
  check_round_trip(config);
  CHECK_THROWS_WITH(characters(Value::table()), Contains("alphabet"));
  CHECK_THROWS_WITH(characters(Value::table({{"alphabet", "a\xff"}})), Contains("byte 1"));
}
