// SPDX-License-Identifier: Apache-2.0
// What tokenizers/HuggingFace refuses, with the place in the file.
#include <functional>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "forms.h"
#include "plugins/tokenizers/files.h"
#include "trivet/error.h"

namespace refusals_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

// A small file: the tokens a, b, ab and <s>.
Json small_file() {
  return Json::parse(R"({"version": "1.0", "added_tokens": [], "normalizer": null,
      "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Fuse"},
      "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})");
}

std::string refusal_of(const std::string& text) {
  const TempDir dir;
  try {
    make_tokenizer("tokenizers/HuggingFace",
                   Value::table({{"file", dir.write("tokenizer.json", text).string()}}));
  } catch (const InputError& error) {
    CHECK_THAT(error.what(), Contains("tokenizer.json"));
    return std::string(error.what()) + " hint: " + error.hint();
  }
  return "not refused";
}

// Replaces the value at a JSON pointer.
std::string with(const char* pointer, const Json& value) {
  Json file = small_file();
  file[Json::json_pointer(pointer)] = value;
  return refusal_of(file.dump());
}

Json split(const Json& pattern, const Json& behavior = "Isolated") {
  return {{"type", "Split"}, {"pattern", pattern}, {"behavior", behavior}, {"invert", false}};
}

std::string with_regex(const std::string& regex) {
  return with("/pre_tokenizer", split({{"Regex", regex}}));
}

}  // namespace

TEST_CASE("types that are not supported are refused by name and place", "[tokenizers]") {
  REQUIRE(hugging_face(small_file())->encode("aab") == std::vector<std::int32_t>{0, 2});
  CHECK_THAT(with("/model/type", "Tree"),
             Contains("model has the model \"Tree\"") && Contains("hint: supported: BPE, "));
  CHECK_THAT(with("/normalizer", {{"type", "Nmt"}}),
             Contains("normalizer has the normalizer \"Nmt\"") && Contains("supported: NFC"));
  CHECK_THAT(with("/normalizer",
                  {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}, {{"type", "Nmt"}}}}}),
             Contains("normalizer.normalizers[1] has the normalizer \"Nmt\""));
  CHECK_THAT(with("/pre_tokenizer",
                  {{"type", "Sequence"}, {"pretokenizers", {{{"type", "UnicodeScripts"}}}}}),
             Contains("pre_tokenizer.pretokenizers[0] has the pre-tokenizer \"UnicodeScripts\""));
  CHECK_THAT(with("/decoder", {{"type", "CTC"}}),
             Contains("decoder has the decoder \"CTC\"") && Contains("supported: ByteLevel"));
  CHECK_THAT(with("/post_processor", {{"type", "Magic"}}),
             Contains("post_processor has the post-processor \"Magic\""));
  CHECK_THAT(with("/decoder", 3), Contains("decoder must be an object"));
  CHECK_THAT(with("/decoder", Json::object()), Contains("decoder.type is missing"));
}

TEST_CASE("fields that are not supported are refused by name and place", "[tokenizers]") {
  CHECK_THAT(with("/chat_template", "{{ x }}"),
             Contains("the field \"chat_template\" is not supported"));
  CHECK_THAT(with("/model/dropout", 0.1), Contains("model.dropout") && Contains("random"));
  CHECK_THAT(with("/model/continuing_word", 1), Contains("model the field \"continuing_word\""));
  CHECK_THAT(with("/model/byte_fallback", "yes"),
             Contains("model.byte_fallback must be true or false"));
  CHECK_THAT(with("/normalizer", {{"type", "NFC"}, {"more", 1}}), Contains("the field \"more\""));
  CHECK_THAT(with("/normalizer", {{"type", "Replace"}, {"content", ""}}),
             Contains("normalizer.pattern is missing"));
  CHECK_THAT(with("/pre_tokenizer", split({{"String", "a"}}, "Kept")),
             Contains("pre_tokenizer.behavior is \"Kept\"") && Contains("supported: Removed"));
  CHECK_THAT(with("/pre_tokenizer", split({{"String", "a"}, {"Regex", "a"}})),
             Contains("pre_tokenizer.pattern must be either"));
  CHECK_THAT(with("/pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "ab"}}),
             Contains("pre_tokenizer.replacement must be one character"));
  CHECK_THAT(with("/pre_tokenizer", {{"type", "Metaspace"}, {"prepend_scheme", "last"}}),
             Contains("pre_tokenizer.prepend_scheme is \"last\""));
  CHECK_THAT(with("/decoder", {{"type", "Strip"}, {"content", " "}, {"start", -1}}),
             Contains("decoder.start must be an integer from 0"));
}

TEST_CASE("templates that do not have the text once are refused", "[tokenizers]") {
  const auto single = [](const Json& items) {
    return with("/post_processor", {{"type", "TemplateProcessing"}, {"single", items}});
  };
  const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const Json start = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  CHECK(single({start, text, start}) == "not refused");
  CHECK_THAT(single(Json::array({start})),
             Contains("post_processor.single does not have the text A"));
  CHECK_THAT(single({text, text}), Contains("post_processor.single[1].Sequence.id is \"A\""));
  CHECK_THAT(single({text, {{"Sequence", {{"id", "B"}}}}}), Contains("\"B\""));
  CHECK_THAT(single({{{"Other", 1}}}), Contains("single[0] the field \"Other\""));
  CHECK_THAT(with("/post_processor", {{"type", "BertProcessing"}, {"sep", "x"}}),
             Contains("post_processor.cls must be [token, id]"));
}

TEST_CASE("regular expressions that are too long or not supported are refused", "[tokenizers]") {
  CHECK_THAT(with_regex(std::string(1 << 20, 'a')), Contains("pre_tokenizer.pattern.Regex") &&
                                                        Contains("1048576 bytes") &&
                                                        Contains("hint: split it"));
  CHECK_THAT(with_regex("a(b"), Contains("pre_tokenizer.pattern.Regex") && Contains("parenthesis"));
  CHECK_THAT(with_regex("[a"), Contains("at byte 2"));
  CHECK_THAT(with_regex("a\\"), Contains("a backslash"));
  CHECK_THAT(with_regex("\\p{Klingon}"), Contains("Regex is not a regular expression"));
  CHECK_THAT(with_regex("[a-z&&[aeiou]]"), Contains("an intersection") && Contains("at byte 4"));
  CHECK_THAT(with_regex("[a[^b]]"), Contains("a negated class"));
  CHECK_THAT(with_regex("(*UTF)a"), Contains("(*"));
  CHECK_THAT(with_regex("(?m:a.b)"), Contains("the group (?m:"));
  CHECK_THAT(with_regex("a{2}+"), Contains("{n}+"));
  CHECK_THAT(with_regex("\\Ka"), Contains("\\K"));
  CHECK_THAT(with_regex("[[:punct:]]"), Contains("[: :]"));
  CHECK_THAT(with_regex(std::string(10'000, '(')), Contains("Regex is not a regular expression"));
}

TEST_CASE("a regular expression that takes too long is an error and no endless wait",
          "[tokenizers]") {
  Json file = small_file();
  file["pre_tokenizer"] = split({{"Regex", "(a+)+$"}});
  const auto tokenizer = hugging_face(file);
  CHECK(tokenizer->encode("aab").size() == 2);
  CHECK_THROWS_WITH(
      tokenizer->encode(std::string(100, 'a') + "b"),
      Contains("pre_tokenizer.pattern.Regex") && Contains("101 bytes") && Contains("match limit"));
  // A long run is no catastrophe.
  file["pre_tokenizer"] = split({{"Regex", kLlama3Regex}});
  CHECK(hugging_face(file)->encode(std::string(1 << 20, 'a')).size() == 1 << 20);
  file["pre_tokenizer"] = split({{"Regex", "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}});
  file["model"]["vocab"][" "] = 3;
  CHECK(hugging_face(file)->encode(std::string(1 << 20, ' ') + "a").size() == (1 << 20) + 1);
}

TEST_CASE("vocabularies that are wrong are refused with the token", "[tokenizers]") {
  CHECK_THAT(with("/model/vocab/c", 2), Contains("model.vocab") && Contains("same id 2"));
  CHECK_THAT(with("/model/vocab/c", 9), Contains("no token has the id 3") && Contains("gap"));
  CHECK_THAT(with("/model/vocab/c", "x"), Contains("not a token id"));
  CHECK_THAT(with("/model/vocab", Json::array()), Contains("model.vocab must be an object"));
  CHECK_THAT(with("/model/merges", {"a c"}), Contains("model.merges[0] names \"c\""));
  CHECK_THAT(with("/model/merges", {"b a"}), Contains("makes \"ba\", which is not a token"));
  CHECK_THAT(with("/model/merges", {"a b", "a b"}), Contains("merges[1] occurs twice"));
  CHECK_THAT(with("/model/merges", {"ab"}), Contains("merges[0] does not have two parts"));
  CHECK_THAT(with("/model/unk_token", "?"), Contains("model.unk_token is \"?\""));
  CHECK_THAT(with("/model", {{"type", "WordPiece"}, {"vocab", {{"a", 0}}}}),
             Contains("model.unk_token is missing"));
  CHECK_THAT(with("/model", {{"type", "Unigram"}, {"unk_id", 1}, {"vocab", {{"a", 0.5}}}}),
             Contains("model.vocab must be a list"));
  const auto unigram = [](const Json& vocab, const Json& unknown) {
    return with("/model", {{"type", "Unigram"}, {"unk_id", unknown}, {"vocab", vocab}});
  };
  const Json a = Json::array({"a", -1.5});
  CHECK(unigram(Json::array({a}), 0) == "not refused");
  CHECK_THAT(unigram(Json::array({a}), 1), Contains("model.unk_id must be an integer from 0 to 0"));
  CHECK_THAT(unigram(Json::array({a, a}), 0), Contains("model.vocab[1] has the token \"a\" twice"));
  CHECK_THAT(unigram(Json::array({"a"}), 0), Contains("[token, log-probability]"));
  CHECK_THAT(with("/added_tokens", Json::array({added_token(9, "a")})),
             Contains("\"a\" with the id 9"));
  CHECK_THAT(with("/added_tokens", Json::array({added_token(3, "")})),
             Contains("added_tokens[0].content"));
  CHECK_THAT(with("/added_tokens", {added_token(3, "x"), added_token(4, "x")}),
             Contains("added_tokens[1].content is \"x\", which occurs twice"));
}

TEST_CASE("damaged files and normalizers are refused", "[tokenizers]") {
  const std::string good = small_file().dump();
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, good.size() / 2}) {
    CHECK_THAT(refusal_of(good.substr(0, size)), Contains("is not JSON"));
  }
  CHECK_THAT(refusal_of("[]"), Contains("expected an object"));
  CHECK_THAT(refusal_of("{}"), Contains("\"model\" is missing"));
  CHECK_THAT(refusal_of("{\"model\": {\"a\": \"\xff\"}}"), Contains("not JSON"));
  const auto charsmap = [](const Json& map) {
    return with("/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", map}});
  };
  CHECK_THAT(charsmap("?"), Contains("normalizer.precompiled_charsmap is not Base64"));
  CHECK_THAT(charsmap("AAAA"), Contains("has no trie"));
  CHECK_THAT(charsmap("/////wAAAAA="), Contains("has no trie"));
  CHECK_THAT(charsmap(nullptr), Contains("precompiled_charsmap is missing"));
}

}  // namespace refusals_test
