// SPDX-License-Identifier: Apache-2.0
#include "trivet/text/utf8.h"

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "trivet/text/utf8_stream.h"

using namespace trivet;

namespace {

// Every character that UTF-8 can encode.
std::vector<char32_t> all_characters() {
  std::vector<char32_t> characters;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c < 0xD800 || c > 0xDFFF) characters.push_back(c);
  }
  return characters;
}

}  // namespace

TEST_CASE("every character reads back as written") {
  std::string text;
  std::size_t wrong = 0, total = 0;
  for (const char32_t character : all_characters()) {
    text.clear();
    append_utf8(character, text);
    const CodePoint read = first_code_point(text + "\x80");
    wrong += read.value != character || read.length != text.size() || find_invalid_utf8(text);
    total += text.size();
  }
  CHECK(wrong == 0);
  // 128 of one byte, 1920 of two, 63488 - 2048 surrogates of three, 1048576 of four.
  CHECK(total == 128 + 1920 * 2 + 61440 * 3 + 1048576 * 4);
}

TEST_CASE("published characters have their published bytes") {
  // RFC 3629, section 7.
  for (const auto& [text, character] :
       std::vector<std::pair<std::string_view, char32_t>>{{"A", 0x41},
                                                          {"\xE2\x89\xA2", 0x2262},
                                                          {"\xCE\x91", 0x391},
                                                          {"\xF0\xA3\x8E\xB4", 0x233B4}}) {
    CAPTURE(text);
    CHECK(first_code_point(text).value == character);
    std::string written;
    append_utf8(character, written);
    CHECK(written == text);
  }
}

TEST_CASE("there is no character without a well-formed sequence") {
  for (const std::string_view text :
       {"", "\x80", "\xC0\x80", "\xC3", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF",
        "\xE2\x82"
        "A"}) {
    CAPTURE(text);
    CHECK(first_code_point(text).length == 0);
  }
}

TEST_CASE("a stream forwards whole characters, byte by byte or in larger pieces") {
  std::size_t early = 0, late = 0;
  for (const char32_t character : all_characters()) {
    std::string text;
    append_utf8(character, text);
    Utf8Stream stream;
    for (std::size_t i = 0; i + 1 < text.size(); ++i) early += stream.push({&text[i], 1}).size();
    late += stream.push({&text.back(), 1}) != text || !stream.finish().empty();
  }
  CHECK(early == 0);
  CHECK(late == 0);

  Utf8Stream stream;
  CHECK(stream.push("gr\xC3") == "gr");
  CHECK(stream.push("\xBC\xC3\x9F"
                    "e \xF0\x9F") ==
        "\xC3\xBC\xC3\x9F"
        "e ");
  CHECK(stream.push("") == "");
  CHECK(stream.push("\x99\x82") == "\xF0\x9F\x99\x82");
  CHECK(stream.finish() == "");
}

TEST_CASE("a stream holds back nothing that cannot become a character, and loses nothing") {
  Utf8Stream stream;
  CHECK(stream.push("\x80\xBF") == "\x80\xBF");
  CHECK(stream.push("\xC0") == "\xC0");          // overlong
  CHECK(stream.push("\xED\xA0") == "\xED\xA0");  // a surrogate
  CHECK(stream.push("\xF5") == "\xF5");          // above U+10FFFF
  CHECK(stream.push("\xE2\x82") == "");
  CHECK(stream.push("x") == "\xE2\x82x");
  CHECK(stream.push("\xF0\x9F\x99") == "");
  CHECK(stream.finish() == "\xF0\x9F\x99");
  CHECK(stream.finish() == "");
}
