// SPDX-License-Identifier: Apache-2.0
// What trivet/tokenizer.h and trivet/text/utf8_stream.h show: text to ids and back, and text that
// arrives in pieces.
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/config.h>
#include <trivet/text/utf8_stream.h>
#include <trivet/tokenizer.h>

#include "fixtures.h"

namespace tokenizer_example {

namespace {

struct TextConfig {
  trivet::ConfigOf<trivet::Tokenizer> tokenizer = "tokenizers/Bytes";
};

}  // namespace

TEST_CASE("example: a tokenizer makes ids of a text, and the text of the ids") {
  snippets::use_plugin("tokenizers");
  const TextConfig config;
  // [tokenizer]
  auto tokenizer = trivet::make(config.tokenizer);  // trivet::ConfigOf<trivet::Tokenizer>
  std::vector<std::int32_t> ids = tokenizer->encode("In the beginning");
  std::string text = tokenizer->decode(ids);
  // [/tokenizer]
  CHECK(ids.size() == 16);
  CHECK(text == "In the beginning");
}

TEST_CASE("example: tokens that end inside a character are written in whole characters") {
  snippets::use_plugin("tokenizers");
  const auto made = trivet::make(TextConfig().tokenizer);
  const trivet::Tokenizer& tokenizer = *made;
  const std::vector<std::int32_t> generated = tokenizer.encode("né");
  std::vector<std::string> written;
  const auto write = [&](const std::string& piece) { written.push_back(piece); };
  // [stream]
  trivet::Utf8Stream stream;
  for (std::int32_t id : generated) write(stream.push(tokenizer.token_text(id)));
  write(stream.finish());
  // [/stream]
  CHECK(written == std::vector<std::string>{"n", "", "é", ""});
}

}  // namespace tokenizer_example
