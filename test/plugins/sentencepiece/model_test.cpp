// SPDX-License-Identifier: Apache-2.0
// sentencepiece/Model with models trained here by SentencePiece's own program, against its programs
// spm_encode and spm_decode.
#include "sentencepiece/model.h"

#include <optional>
#include <sstream>

#include <catch2/catch.hpp>

#include "plugins/config_round_trip.h"
#include "plugins/tokenizers/files.h"
#include "trivet/error.h"

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Ids = std::vector<std::int32_t>;
namespace fs = std::filesystem;

namespace {

// A model of the licenses; nothing, with a warning, if spm_train is missing.
std::optional<fs::path> trained(const TempDir& dir, const std::string& options) {
  if (shell("command -v spm_train").exit_code != 0) {
    SUCCEED();
    WARN("skipped: there is no spm_train (Debian: sentencepiece)");
    return std::nullopt;
  }
  const ShellResult result = shell(
      "cd " + quoted(dir.path().string()) +
      " && spm_train --input=/usr/share/common-licenses/GPL-3 --model_prefix=m --vocab_size=700 "
      "--minloglevel=1 " +
      options);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  return dir / "m.model";
}

std::unique_ptr<Tokenizer> model_of(const fs::path& file) {
  return make_tokenizer("sentencepiece/Model", Value::table({{"file", file.string()}}));
}

const char* const kByteModel =
    "--byte_fallback=true --normalization_rule_name=identity --remove_extra_whitespaces=false "
    "--pad_id=3";

}  // namespace

TEST_CASE("a SentencePiece model gives the ids and texts of Google's programs", "[tokenizers]") {
  for (const char* options : {"--model_type=unigram", "--model_type=bpe", kByteModel}) {
    CAPTURE(options);
    const TempDir dir;
    const auto file = trained(dir, options);
    if (!file) return;
    const auto model = model_of(*file);
    const std::string in = "/usr/share/common-licenses/GPL-2";
    const std::string spm = " --model=" + quoted(file->string()) + " ";
    std::istringstream ids(shell("spm_encode --output_format=id" + spm + in).output);
    std::istringstream texts(
        shell("spm_encode --output_format=id" + spm + in + " | spm_decode --input_format=id" + spm)
            .output);
    std::istringstream lines(read_file(in));
    std::size_t count = 0;
    for (std::string line, id_line, text; std::getline(lines, line); ++count) {
      REQUIRE(std::getline(ids, id_line));
      REQUIRE(std::getline(texts, text));
      std::string ours;
      const Ids encoded = model->encode(line);
      for (const std::int32_t id : encoded) ours += (ours.empty() ? "" : " ") + std::to_string(id);
      if (ours != id_line || model->decode(encoded) != text) {
        FAIL("line " << count + 1 << ": " << line);
      }
    }
    CHECK(count > 300);
  }
}

TEST_CASE("a SentencePiece model reports its special pieces and all texts", "[tokenizers]") {
  const TempDir dir;
  const auto file = trained(dir, kByteModel);
  if (!file) return;
  const auto model = model_of(*file);
  CHECK(model->vocabulary_size() == 700);
  CHECK(model->unknown_id() == 0);
  CHECK(model->bos_id() == 1);
  CHECK(model->eos_id() == 2);
  CHECK(model->pad_id() == 3);
  CHECK(model->is_special(1));
  CHECK_FALSE(model->is_special(0));
  CHECK(model->token_text(2) == "</s>");
  CHECK(model->token_id("</s>") == 2);
  CHECK(model->token_text(4) == std::string(1, '\0'));
  CHECK(model->token_text(4 + 255) == "\xff");
  CHECK(model->token_id(" the").has_value());
  CHECK(model->decode(Ids{1, *model->token_id(" the"), 2}) == "the");
  for (const std::int32_t id : {-1, 700}) {
    CHECK_THROWS_AS(model->decode(Ids{id}), InputError);
    CHECK_THROWS_AS(model->token_text(id), InputError);
    CHECK_THROWS_AS(model->is_special(id), InputError);
  }
  // A model without normalization restores any UTF-8 text.
  CHECK(model->encode("").empty());
  for (const std::string text : {"the  end ", "na\u00efve \u4f60\u597d \U0001F642", "a\n\tb"}) {
    CHECK(model->decode(model->encode(text)) == text);
  }
  CHECK(model->decode(model->encode("a\xff"
                                    "b")) ==
        "a\ufffd"
        "b");
}

TEST_CASE("the fingerprint of a SentencePiece model is that of its file", "[tokenizers]") {
  const TempDir dir, other;
  const auto unigram = trained(dir, "--model_type=unigram");
  const auto bpe = trained(other, "--model_type=bpe");
  if (!unigram || !bpe) return;
  CHECK(model_of(*unigram)->fingerprint() == model_of(*unigram)->fingerprint());
  CHECK(model_of(*unigram)->fingerprint() != model_of(*bpe)->fingerprint());
  CHECK(model_of(*unigram)->decode(model_of(*unigram)->encode("  the   end ")) == "the end");
  CHECK_FALSE(model_of(*unigram)->pad_id());
  const TempDir kept;
  const auto stored = model_of(*unigram)->store(kept.path());
  CHECK(*stored.fields().find("file") == "tokenizer.model");
  CHECK(read_file(kept / "tokenizer.model") == read_file(*unigram));
}

TEST_CASE("a file that is not a SentencePiece model is refused", "[tokenizers]") {
  const TempDir dir;
  sentencepieces::ModelConfig config;
  config.file = Path("m.model");
  check_round_trip(config);
  CHECK_THROWS_AS(make_tokenizer("sentencepiece/Model"), ConfigError);
  CHECK_THROWS_AS(model_of(dir / "missing.model"), InputError);
  CHECK_THROWS_AS(model_of(dir.path()), InputError);
  for (const std::string text : {"", "no model at all", "\n\xff\xff\xff\xff\x0f", "{}"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(model_of(dir.write("m.model", text)),
                      Contains("m.model") && Contains("is not a SentencePiece model"));
  }
  const auto file = trained(dir, "");
  if (!file) return;
  const std::string whole = read_file(*file);
  CHECK_THROWS_AS(model_of(dir.write("cut.model", whole.substr(0, whole.size() / 2))), InputError);
}
