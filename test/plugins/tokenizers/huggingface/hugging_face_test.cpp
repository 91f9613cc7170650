// SPDX-License-Identifier: Apache-2.0
// tokenizers/HuggingFace on small vocabularies, with ids computed by hand.
#include "tokenizers/huggingface/hugging_face.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "forms.h"
#include "plugins/config_round_trip.h"
#include "plugins/tokenizers/files.h"
#include "plugins/tokenizers/odd_texts.h"
#include "trivet/error.h"

namespace hugging_face_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Ids = std::vector<std::int32_t>;
using Json = nlohmann::json;

namespace {

Json file_of(const Json& model) {
  return {{"version", "1.0"},
          {"added_tokens", Json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", nullptr},
          {"post_processor", nullptr},
          {"decoder", nullptr},
          {"model", model}};
}

// The words of the example in the paper's code (tokenization_test.py, testWordpieceTokenizer).
Json paper_word_piece() {
  Json file = file_of({{"type", "WordPiece"},
                       {"unk_token", "[UNK]"},
                       {"continuing_subword_prefix", "##"},
                       {"max_input_chars_per_word", 100},
                       {"vocab",
                        {{"[UNK]", 0},
                         {"[CLS]", 1},
                         {"[SEP]", 2},
                         {"want", 3},
                         {"##want", 4},
                         {"##ed", 5},
                         {"wa", 6},
                         {"un", 7},
                         {"runn", 8},
                         {"##ing", 9}}}});
  file["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
  file["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  file["added_tokens"] = {added_token(0, "[UNK]"), added_token(1, "[CLS]"),
                          added_token(2, "[SEP]")};
  return file;
}

Json unigram(const std::vector<Json>& vocab, const Json& unknown = 0) {
  return file_of({{"type", "Unigram"}, {"unk_id", unknown}, {"vocab", vocab}});
}

Json scored(const char* token, double score) {
  return Json::array({token, score});
}

}  // namespace

TEST_CASE("WordPiece has the tokens of BERT's own test", "[tokenizers]") {
  const auto tokenizer = hugging_face(paper_word_piece());
  CHECK(tokenizer->encode("") == Ids{});
  CHECK(tokenizer->encode("unwanted running") == Ids{7, 4, 5, 8, 9});
  CHECK(tokenizer->encode("unwantedX running") == Ids{0, 8, 9});
  CHECK(tokenizer->decode(Ids{7, 4, 5, 8, 9}) == "unwanted running");
  CHECK(tokenizer->encode("[CLS] unwanted[SEP]") == Ids{1, 7, 4, 5, 2});
  CHECK(tokenizer->unknown_id() == 0);
  Json shorter = paper_word_piece();
  shorter["model"]["max_input_chars_per_word"] = 7;
  CHECK(hugging_face(shorter)->encode("unwanted running") == Ids{0, 8, 9});
}

TEST_CASE("tokens have the text that they have among others", "[slow][tokenizers]") {
  const auto pieces = hugging_face(paper_word_piece());
  CHECK(pieces->token_text(9) == "ing");
  CHECK(pieces->token_text(8) == " runn");
  CHECK(pieces->token_text(1) == "[CLS]");
  CHECK(pieces->is_special(1));
  CHECK_FALSE(pieces->is_special(8));
  CHECK(pieces->token_id("[SEP]") == 2);
  CHECK(pieces->token_id("##ing") == 9);
  CHECK(pieces->token_id("ing") == 9);
  CHECK_FALSE(pieces->token_id("nothing"));
  CHECK_THROWS_AS(pieces->decode(Ids{10}), InputError);
  CHECK_THROWS_AS(pieces->token_text(-1), InputError);
  const auto llama = hugging_face(character_bpe_file());
  CHECK(llama->token_text(*llama->token_id("\u2581the")) == " the");
  CHECK(llama->token_text(3) == std::string(1, '\0'));
  CHECK(llama->bos_id() == 1);
  CHECK(llama->eos_id() == 2);
}

TEST_CASE("a unigram model takes the most likely tokens", "[tokenizers]") {
  const auto tokenizer =
      hugging_face(unigram({scored("<unk>", 0), scored("a", -1), scored("b", -1.5),
                            scored("ab", -2), scored("abc", -9), scored("c", -3)}));
  CHECK(tokenizer->encode("ab") == Ids{3});      // -2 against -2.5
  CHECK(tokenizer->encode("abc") == Ids{3, 5});  // -5 against -9
  CHECK(tokenizer->encode("xya") == Ids{0, 1});  // unknown ones in a row are one
  CHECK(tokenizer->encode("xax") == Ids{0, 1, 0});
  CHECK(tokenizer->encode("<unk>") == Ids{0});
  const auto none = hugging_face(unigram({scored("a", -1)}, nullptr));
  CHECK(none->encode("aa") == Ids{0, 0});
  CHECK_THROWS_WITH(none->encode("ab"), Contains("no token for the bytes 62"));
}

TEST_CASE("bytes that are no characters come back or are unknown", "[tokenizers]") {
  const auto bytes = hugging_face(byte_level_file(split_then_bytes(kLlama3Regex)));
  for (const std::string& text : hard_texts()) CHECK(bytes->decode(bytes->encode(text)) == text);
  const std::string broken = "a\xff\xe2\x82 b<s>\x80";
  CHECK(bytes->decode(bytes->encode(broken)) == broken);
  Json llama = character_bpe_file();
  llama["added_tokens"] = Json::array();
  const auto fallback = hugging_face(llama);
  CHECK(fallback->encode("\xff") == Ids{3 + 255});
  CHECK(fallback->decode(Ids{3 + 255, 3 + 10}) == "\xff\n");
  const auto pieces = hugging_face(paper_word_piece());
  CHECK(pieces->encode("want\xff\xfe want") == Ids{3, 0, 3});
  const auto none = hugging_face(unigram({scored("a", -1)}, nullptr));
  CHECK_THROWS_WITH(none->encode("a\xff"), Contains("FF"));
}

TEST_CASE("special tokens may be plain text", "[tokenizers]") {
  const TempDir dir;
  const Json file = byte_level_file(split_then_bytes(kLlama3Regex));
  Value fields = Value::table({{"file", dir.write("tokenizer.json", file.dump()).string()}});
  const auto found = make_tokenizer("tokenizers/HuggingFace", fields);
  fields.set("match_special_tokens", false);
  const auto plain = make_tokenizer("tokenizers/HuggingFace", fields);
  CHECK(found->encode("<s>") == Ids{0});
  CHECK(plain->encode("<s>").size() > 1);
  CHECK(plain->decode(plain->encode("<s>")) == "<s>");
  CHECK(plain->fingerprint() != found->fingerprint());
}

TEST_CASE("GPT-2's form is the same in both classes", "[tokenizers]") {
  const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  const TempDir dir;
  const auto file = dir.write("tokenizer.json", byte_level_file(bytes).dump());
  const auto bpe = bpe_of(file);
  const auto all = hugging_face(byte_level_file(bytes));
  CHECK(all->vocabulary_size() == bpe->vocabulary_size());
  for (const std::string& text : odd_texts(1000)) CHECK(all->encode(text) == bpe->encode(text));
  for (std::int32_t id = 0; id < 300; ++id) CHECK(all->token_text(id) == bpe->token_text(id));
}

TEST_CASE("the fingerprint depends on what decides the ids alone", "[tokenizers]") {
  const Json file = paper_word_piece();
  const std::string own = hugging_face(file)->fingerprint();
  Json other = file;
  other["truncation"] = {{"max_length", 512}};
  other["version"] = "1.1";
  CHECK(hugging_face(other)->fingerprint() == own);
  for (const char* change : {"/model/max_input_chars_per_word", "/decoder/cleanup"}) {
    other = file;
    other[Json::json_pointer(change)] = *change == '/' && change[1] == 'm' ? Json(9) : Json(false);
    CHECK(hugging_face(other)->fingerprint() != own);
  }
  other = file;
  other["normalizer"] = {{"type", "NFC"}};
  CHECK(hugging_face(other)->fingerprint() != own);
}

TEST_CASE("the config of a tokenizer.json survives the way to a file", "[tokenizers]") {
  tokenizers::HuggingFaceConfig config;
  config.file = Path("tokenizer.json");
  config.pad_token = "";
  check_round_trip(config);
  CHECK_THROWS_AS(make_tokenizer("tokenizers/HuggingFace", Value::table()), ConfigError);
  CHECK_THROWS_WITH(hugging_face(Json(3)), Contains("expected an object"));
}

TEST_CASE("classes of characters are those of Oniguruma", "[tokenizers]") {
  // Pieces of byte-level BPE without merges, where the expression matches.
  const auto matches = [](const std::string& regex, const std::string& text) {
    Json file = byte_level_file(split_then_bytes(regex));
    file["model"]["merges"] = Json::array();
    file["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Removed";
    const auto tokenizer = hugging_face(file);
    return tokenizer->decode(tokenizer->encode(text)).size() < text.size();
  };
  CHECK(matches("\\s", "a\u0085"));
  CHECK_FALSE(matches("\\s", "a\u180e"));  // PCRE2 has it as \h
  CHECK(matches("\\h", "xa"));
  CHECK_FALSE(matches("\\h", "x "));
  CHECK(matches("\\w", "\u0301"));
  CHECK_FALSE(matches("\\w", "\u00bd"));
  CHECK(matches("[^(\\s|[.,!])]", "a"));
  CHECK_FALSE(matches("[^(\\s|[.,!])]", "(,|)"));
  CHECK(matches("a{,2}b", "b"));
  CHECK_FALSE(matches("^a{,2}c$", "a{,2}"));
  CHECK(matches("\\p{Han}", "\u4e00"));
  CHECK_FALSE(matches("\\p{Han}", "\u3001"));  // its Script_Extensions have Han
  CHECK(matches("\\u4e00", "\u4e00"));
  CHECK(matches("\\bb", "a b"));
  CHECK_FALSE(matches("\\bb", "ab"));
  CHECK(matches("[[:alpha:]]", "\u00e9"));
  CHECK(matches("(?i:'S)", "'\u017f"));
}

}  // namespace hugging_face_test
