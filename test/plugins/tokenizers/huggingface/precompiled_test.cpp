// SPDX-License-Identifier: Apache-2.0
// A model of SentencePiece as a tokenizer.json, with its own normalizer: against Google's program
// and Hugging Face's library.
#include <cstring>
#include <optional>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "forms.h"
#include "plugins/tokenizers/files.h"
#include "plugins/tokenizers/peer_check.h"

namespace precompiled_test {

using namespace trivet;
using namespace trivet::test;
using Json = nlohmann::json;

namespace {

// Visits the fields of a message of protocol buffers: number, and bytes of texts and fixed numbers.
template <class Visit>
void for_each_field(std::string_view message, const Visit& visit) {
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(0));
      message.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
  };
  while (!message.empty()) {
    const std::uint64_t tag = varint();
    std::size_t size = 0;
    switch (tag & 7) {
      case 0:
        varint();
        continue;
      case 1:
        size = 8;
        break;
      case 2:
        size = varint();
        break;
      default:
        size = 4;
    }
    visit(tag >> 3, message.substr(0, size));
    message.remove_prefix(size);
  }
}

std::string base64(std::string_view bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

// What Hugging Face's converter makes of a unigram model (convert_slow_tokenizer.py, SpmConverter).
Json converted(const std::string& model) {
  Json vocab = Json::array();
  std::string charsmap;
  for_each_field(model, [&](std::uint64_t number, std::string_view bytes) {
    if (number == 1) {
      std::string piece;
      float score = 0;
      for_each_field(bytes, [&](std::uint64_t part, std::string_view value) {
        if (part == 1) piece = std::string(value);
        if (part == 2) std::memcpy(&score, value.data(), sizeof(score));
      });
      vocab.push_back(Json::array({piece, static_cast<double>(score)}));
    } else if (number == 3) {
      for_each_field(bytes, [&](std::uint64_t part, std::string_view value) {
        if (part == 2) charsmap = base64(value);
      });
    }
  });
  Json file = unigram_file(false);
  file["model"]["vocab"] = vocab;
  file["normalizer"] = {
      {"type", "Sequence"},
      {"normalizers",
       {{{"type", "Precompiled"}, {"precompiled_charsmap", charsmap}},
        {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}},
        {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}}}}};
  return file;
}

// A model of the GPL; nothing, with a warning, if spm_train is missing.
std::optional<std::filesystem::path> trained(const TempDir& dir) {
  if (shell("command -v spm_train").exit_code != 0) {
    SUCCEED();
    WARN("skipped: there is no spm_train (Debian: sentencepiece)");
    return std::nullopt;
  }
  const ShellResult result =
      shell("cd " + quoted(dir.path().string()) +
            " && spm_train --input=/usr/share/common-licenses/GPL-3 --model_prefix=m "
            "--vocab_size=700 --model_type=unigram --minloglevel=1");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  return dir / "m.model";
}

}  // namespace

TEST_CASE("a converted SentencePiece model has the ids of Google's program", "[slow][tokenizers]") {
  const TempDir dir;
  const auto model = trained(dir);
  if (!model) return;
  const auto tokenizer = hugging_face(converted(read_file(*model)));
  const std::string in = "/usr/share/common-licenses/GPL-2";
  std::istringstream ids(
      shell("spm_encode --output_format=id --model=" + quoted(model->string()) + " " + in).output);
  std::istringstream lines(read_file(in));
  std::size_t count = 0;
  for (std::string line, wanted; std::getline(lines, line); ++count) {
    REQUIRE(std::getline(ids, wanted));
    std::string ours;
    for (const std::int32_t id : tokenizer->encode(line)) {
      ours += (ours.empty() ? "" : " ") + std::to_string(id);
    }
    INFO(line);
    CHECK(ours == wanted);
  }
  CHECK(count > 300);
}

TEST_CASE("the normalizer of SentencePiece models has the results of the library",
          "[tokenizers][slow]") {
  const TempDir dir;
  const auto model = trained(dir);
  if (!model) return;
  const Json file = converted(read_file(*model));
  // The JavaScript reader does not read the map.
  check_peers(file, {.javascript = false});
  // With bytes behind it, all of the normalized text is compared.
  Json bytes = byte_level_file(split_then_bytes(kQwen2Regex));
  bytes["normalizer"] = file["normalizer"]["normalizers"][0];
  check_peers(bytes, {.javascript = false});
}

}  // namespace precompiled_test
