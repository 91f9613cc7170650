// SPDX-License-Identifier: Apache-2.0
// The files of byte-level BPE: reading, writing, and errors.
#include <functional>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "plugins/config_round_trip.h"
#include "plugins/tokenizers/files.h"
#include "tokenizers/bpe/bpe.h"
#include "tokenizers/simple/bytes.h"
#include "trivet/error.h"

namespace tokenizers_file_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Ids = std::vector<std::int32_t>;
using Json = nlohmann::json;

namespace {

const Merges kMerges = {{"a", "b"}, {"ab", "c"}, {" ", "ab"}};

Json good_file() {
  return Json::parse(tokenizer_json(kMerges, {"<s>"}));
}

std::unique_ptr<Tokenizer> read(const std::string& text) {
  const TempDir dir;
  return bpe_of(dir.write("tokenizer.json", text));
}

// The error message about a file; it must be an InputError that names the file.
std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const InputError& error) {
    CHECK_THAT(error.what(), Contains("tokenizer.json"));
    return error.what();
  }
  return "not refused";
}

std::string refusal(const std::function<void(Json&)>& change) {
  Json file = good_file();
  change(file);
  return refusal(file.dump());
}

// GPT-2's two files with the vocabulary of the valid file and these lines.
std::unique_ptr<Tokenizer> read_gpt2(const std::string& merges, Value fields = Value::table()) {
  const TempDir dir;
  Json vocab = good_file()["model"]["vocab"];
  vocab["<s>"] = 259;
  fields.set("vocab", dir.write("vocab.json", vocab.dump()).string());
  fields.set("merges", dir.write("merges.txt", merges).string());
  return make_tokenizer("tokenizers/Bpe", fields);
}

}  // namespace

TEST_CASE("a tokenizer.json may be written in several ways", "[tokenizers]") {
  const std::string fingerprint = read(good_file().dump())->fingerprint();
  const auto check_same = [&](const std::function<void(Json&)>& change) {
    Json file = good_file();
    change(file);
    INFO(file.dump());
    CHECK(read(file.dump(2))->fingerprint() == fingerprint);
  };
  check_same([](Json& file) {
    for (Json& merge : file["model"]["merges"]) {
      const auto text = merge.get<std::string>();
      merge = {text.substr(0, text.find(' ')), text.substr(text.find(' ') + 1)};
    }
  });
  check_same([](Json& file) { file["model"].erase("type"); });
  check_same([](Json& file) { file["model"]["vocab"]["<s>"] = 259; });
  check_same([](Json& file) {
    file["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {file["pre_tokenizer"]}}};
  });
  check_same([](Json& file) {
    file["post_processor"] = {{"type", "TemplateProcessing"}};
    file["truncation"] = {{"max_length", 3}};
    file["decoder"] = nullptr;
    file["model"]["dropout"] = nullptr;
    file["model"]["end_of_word_suffix"] = "";
  });
}

TEST_CASE("a written file reads back to the same bytes", "[tokenizers]") {
  for (const char* field : {"", "add_prefix_space", "use_regex", "ignore_merges", "unk_token"}) {
    CAPTURE(field);
    Json file = good_file();
    if (std::string(field) == "unk_token") {
      file["model"][field] = "<s>";
    } else if (*field != 0) {
      (std::string(field) == "ignore_merges" ? file["model"] : file["pre_tokenizer"])[field] =
          std::string(field) != "use_regex";
    }
    file["added_tokens"].push_back({{"id", 260}, {"content", "two words"}, {"special", false}});
    file["added_tokens"].push_back({{"id", 261}, {"content", "\"\u00e9\\\n"}, {"special", true}});
    const auto first = read(file.dump());
    const auto again = read(first->tokenizer_json().value());
    CHECK(again->fingerprint() == first->fingerprint());
    CHECK(again->tokenizer_json() == first->tokenizer_json());
    CHECK(first->fingerprint() != read(good_file().dump())->fingerprint());
  }
}

TEST_CASE("the switches of a tokenizer.json have their effects", "[tokenizers]") {
  Json file = good_file();
  CHECK(read(file.dump())->encode("ab ab") == Ids{256, 258});
  file["pre_tokenizer"]["add_prefix_space"] = true;
  CHECK(read(file.dump())->encode("ab<s>ab") == Ids{258, 259, 258});
  CHECK(read(file.dump())->encode(" ab") == Ids{258});
  file["pre_tokenizer"].erase("add_prefix_space");  // the library's default is true
  CHECK(read(file.dump())->encode("ab") == Ids{258});
  file["pre_tokenizer"] = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  file["model"]["merges"] = {"b \u0120"};
  file["model"]["vocab"]["b\u0120"] = 259;
  file["added_tokens"] = Json::array();
  CHECK(read(file.dump())->encode("ab a") == Ids{'a', 259, 'a'});
  file["model"]["ignore_merges"] = true;
  CHECK(read(file.dump())->encode("abc") == Ids{257});
  CHECK(read(file.dump())->encode("aabc") == Ids{'a', 'a', 'b', 'c'});
}

TEST_CASE("a byte without a token is unknown, or an error without an unknown token",
          "[tokenizers]") {
  Json file = good_file();
  file["model"]["vocab"].erase("z");
  file["model"]["vocab"]["<unk>"] = static_cast<int>('z');
  file["added_tokens"].push_back(
      {{"id", static_cast<int>('z')}, {"content", "<unk>"}, {"special", true}});
  const auto without = read(file.dump());
  CHECK(without->encode("a") == Ids{'a'});
  CHECK_THROWS_WITH(without->encode("az"), Contains("0x7A"));
  file["model"]["unk_token"] = "<unk>";
  const auto with = read(file.dump());
  CHECK(with->unknown_id() == 'z');
  CHECK(with->encode("az") == Ids{'a', 'z'});
  CHECK(with->decode(with->encode("az")) == "a<unk>");
}

TEST_CASE("a damaged tokenizer.json is refused with its reason", "[tokenizers]") {
  const std::string good = good_file().dump();
  for (std::size_t size : {std::size_t{0}, std::size_t{1}, good.size() / 2, good.size() - 1}) {
    CAPTURE(size);
    CHECK_THAT(refusal(good.substr(0, size)), Contains("is not JSON: parse error at line "));
  }
  CHECK_THAT(refusal("[]"), Contains("expected an object"));
  CHECK_THAT(refusal("{}"), Contains("\"model\""));
  CHECK_THAT(refusal("{\"model\": {\"a\": \"\xff\"}}"), Contains("not JSON"));
  CHECK_THAT(refusal(std::string(200, '[') + std::string(200, ']')), Contains("nested"));
  CHECK_THAT(refusal("{\"model\": 1, \"model\": 1}"), Contains("occurs twice"));
  const TempDir dir;
  CHECK_THROWS_AS(bpe_of(dir / "missing.json"), InputError);
  CHECK_THROWS_AS(bpe_of(dir.path()), InputError);
}

TEST_CASE("a tokenizer.json whose vocabulary is wrong is refused with the token", "[tokenizers]") {
  const auto vocab = [](const char* token, const Json& id) {
    return refusal([&](Json& file) { file["model"]["vocab"][token] = id; });
  };
  CHECK_THAT(vocab("ba", 256), Contains("same id 256") && Contains("\"ba\""));
  CHECK_THAT(vocab("ba", 300), Contains("no token has the id 260"));
  for (const Json& id : {Json(-1), Json(1.5), Json("1"), Json(nullptr), Json(2147483648)}) {
    CAPTURE(id);
    CHECK_THAT(vocab("ba", id), Contains("not a token id"));
  }
  CHECK_THAT(vocab("a b", 260), Contains("\"a b\"") && Contains("characters for bytes"));
  CHECK_THAT(vocab("\u2581a", 260), Contains("characters for bytes"));
  CHECK_THAT(vocab("", 260), Contains("characters for bytes"));
  CHECK_THAT(refusal([](Json& file) { file["model"]["vocab"] = Json::array(); }),
             Contains("\"vocab\""));
  CHECK_THAT(refusal([](Json& file) {
               file["model"]["vocab"] = Json::object();
               file["added_tokens"] = Json::array();
             }),
             Contains("empty"));
}

TEST_CASE("a tokenizer.json whose merges are wrong is refused with the merge", "[tokenizers]") {
  const auto merge = [](const Json& value) {
    return refusal([&](Json& file) { file["model"]["merges"].push_back(value); });
  };
  CHECK_THAT(merge("a xyz"), Contains("merge 4") && Contains("\"xyz\""));
  CHECK_THAT(merge("x y"), Contains("merge 4") && Contains("\"xy\""));
  CHECK_THAT(merge("a b"), Contains("merge 4") && Contains("twice"));
  CHECK_THAT(merge("ab"), Contains("two parts"));
  CHECK_THAT(merge("a b c"), Contains("\"b c\""));
  CHECK_THAT(merge(3), Contains("pair"));
  CHECK_THAT(merge(Json{"a", "b", "c"}), Contains("pair"));
  CHECK_THAT(refusal([](Json& file) { file["model"].erase("merges"); }), Contains("\"merges\""));
}

TEST_CASE("a tokenizer.json whose added tokens are wrong is refused with the token",
          "[tokenizers]") {
  const auto added = [](const Json& token) {
    return refusal([&](Json& file) { file["added_tokens"].push_back(token); });
  };
  CHECK_THAT(added({{"id", 259}, {"content", "<e>"}}), Contains("same id 259"));
  CHECK_THAT(added({{"id", 300}, {"content", "<e>"}}), Contains("no token has the id 260"));
  CHECK_THAT(added({{"id", 259}, {"content", "<s>"}}), Contains("twice"));
  CHECK_THAT(added({{"id", 260}, {"content", "<s>"}}), Contains("\"<s>\""));
  CHECK_THAT(added({{"id", 260}, {"content", ""}}), Contains("empty"));
  CHECK_THAT(added({{"id", 260}}), Contains("\"content\""));
  CHECK_THAT(added({{"content", "<e>"}}), Contains("not a token id"));
  CHECK_THAT(added(7), Contains("\"content\""));
  for (const char* field : {"single_word", "lstrip", "rstrip"}) {
    CAPTURE(field);
    CHECK_THAT(added({{"id", 260}, {"content", "<e>"}, {field, true}}),
               Contains(field) && Contains("<e>"));
  }
  CHECK_THAT(refusal([](Json& file) { file["added_tokens"] = 1; }), Contains("a list"));
}

TEST_CASE("a tokenizer.json of another kind is refused with the difference", "[tokenizers]") {
  const auto with = [](const char* pointer, const Json& value) {
    return refusal([&](Json& file) { file[Json::json_pointer(pointer)] = value; });
  };
  CHECK_THAT(with("/model/type", "WordPiece"), Contains("model WordPiece"));
  CHECK_THAT(with("/model/type", "Unigram"), Contains("model Unigram"));
  CHECK_THAT(with("/normalizer", {{"type", "NFC"}}), Contains("normalizer NFC"));
  CHECK_THAT(with("/pre_tokenizer", nullptr), Contains("pre_tokenizer"));
  CHECK_THAT(with("/pre_tokenizer", {{"type", "Metaspace"}}), Contains("Metaspace"));
  CHECK_THAT(with("/pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", Json::array()}}),
             Contains("pre_tokenizer Sequence"));
  CHECK_THAT(with("/decoder", {{"type", "WordPiece"}}), Contains("decoder WordPiece"));
  CHECK_THAT(with("/model/dropout", 0.1), Contains("dropout"));
  CHECK_THAT(with("/model/byte_fallback", true), Contains("byte_fallback"));
  CHECK_THAT(with("/model/byte_fallback", "yes"), Contains("true or false"));
  CHECK_THAT(with("/model/end_of_word_suffix", "</w>"), Contains("end_of_word_suffix"));
  CHECK_THAT(with("/model/unk_token", "<nothing>"), Contains("unk_token"));
  CHECK_THAT(with("/model/unk_token", 3), Contains("unk_token"));
}

TEST_CASE("GPT-2's two files are read, and refused by file and line", "[tokenizers]") {
  const std::string good = "#version: 0.2\na b\nab c\n\u0120 ab\n";
  const auto tokenizer = read_gpt2(good, Value::table({{"special_tokens", Value::array({"<s>"})}}));
  CHECK(tokenizer->fingerprint() == read(good_file().dump())->fingerprint());
  const auto unmarked = read_gpt2("a b\r\nab c\r\n\u0120 ab");
  CHECK(unmarked->encode("abc ab") == Ids{257, 258});
  CHECK(unmarked->encode("<s>").size() == 3);
  CHECK_FALSE(unmarked->bos_id());
  CHECK_THROWS_WITH(read_gpt2("#version\na b\nab\n"), Contains("merges.txt:3"));
  CHECK_THROWS_WITH(read_gpt2("a b c\n"), Contains("merges.txt:1"));
  CHECK_THROWS_WITH(read_gpt2("a b\nq xyz\n"), Contains("merge 2") && Contains("\"xyz\""));
  CHECK_THROWS_WITH(read_gpt2(good, Value::table({{"special_tokens", Value::array({"<e>"})}})),
                    Contains("no special token \"<e>\""));
}

TEST_CASE("the configs of byte tokenizers survive the way to a file, and have rules",
          "[tokenizers]") {
  check_round_trip_with<tokenizers::BytesConfig>([](auto& config) { config.eos = true; });
  tokenizers::BpeConfig config;
  config.file = Path("tokenizer.json");
  config.eos_token = "";
  config.special_tokens = {"<s>"};
  check_round_trip(config);
  for (const auto& fields :
       {Value::table(), Value::table({{"vocab", "v"}}), Value::table({{"merges", "m"}}),
        Value::table({{"file", "f"}, {"merges", "m"}})}) {
    CAPTURE(to_toml(fields));
    CHECK_THROWS_AS(make_tokenizer("tokenizers/Bpe", fields), ConfigError);
  }
}

TEST_CASE("bytes are their own ids, and special tokens follow them", "[tokenizers]") {
  const auto plain = make_tokenizer("tokenizers/Bytes");
  CHECK(plain->vocabulary_size() == 256);
  CHECK(plain->encode(std::string("a\0\xff", 3)) == Ids{'a', 0, 255});
  CHECK_FALSE(plain->eos_id());
  CHECK_THROWS_AS(plain->decode(Ids{256}), InputError);
  for (const std::string& text : hard_texts()) CHECK(plain->decode(plain->encode(text)) == text);

  const auto marked =
      make_tokenizer("tokenizers/Bytes", Value::table({{"eos", true}, {"pad", true}}));
  CHECK(marked->vocabulary_size() == 258);
  CHECK_FALSE(marked->bos_id());
  CHECK(marked->eos_id() == 256);
  CHECK(marked->pad_id() == 257);
  CHECK(marked->is_special(257));
  CHECK_FALSE(marked->is_special('a'));
  CHECK(marked->decode(Ids{'a', 256}) == "a<eos>");
  CHECK(marked->token_id("<eos>") == 256);
  CHECK(marked->encode("<eos>").size() == 5);
  CHECK(marked->fingerprint() != plain->fingerprint());
}

}  // namespace tokenizers_file_test
