// SPDX-License-Identifier: Apache-2.0
// The pieces of contexts, by hand from BERT's tokenization.py.
#include "data/answers/context_pieces.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace context_pieces_test {
namespace {

std::vector<std::string> pieces(const std::string& text) {
  std::vector<std::string> all;
  for (const auto& [begin, end] : trivet::data::pieces_of(text)) {
    all.push_back(text.substr(begin, end - begin));
  }
  return all;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("words of a context end at white space", "[data-answers]") {
  CHECK(pieces("").empty());
  CHECK(pieces(" \t\r\n\v\f").empty());
  CHECK(pieces("  ab c1\n") == Texts{"ab", "c1"});
  // No-break space, em space, ideographic space, line separator.
  CHECK(pieces("a\u00A0b\u2003c\u3000d\u2028e") == Texts{"a", "b", "c", "d", "e"});
}

TEST_CASE("a punctuation mark of a context is a piece", "[data-answers]") {
  CHECK(pieces("It's $5.") == Texts{"It", "'", "s", "$", "5", "."});
  CHECK(pieces("a_b^c`d~") == Texts{"a", "_", "b", "^", "c", "`", "d", "~"});
  // Quotes, a dash, an ellipsis, an inverted mark; the euro sign is a symbol beyond ASCII.
  CHECK(pieces("\u201Cno\u201D\u20141990\u2026\u00BFqu\u00E9?") ==
        Texts{"\u201C", "no", "\u201D", "\u2014", "1990", "\u2026", "\u00BF", "qu\u00E9", "?"});
  CHECK(pieces("5\u20AC") == Texts{"5\u20AC"});
}

TEST_CASE("a CJK ideograph of a context is a piece", "[data-answers]") {
  CHECK(pieces("\u5317\u4EAC2008\u5E74\u3002") ==
        Texts{"\u5317", "\u4EAC", "2008", "\u5E74", "\u3002"});
  // The ends of the blocks, and what is next to them; kana and Hangul are letters.
  CHECK(pieces("a\u3400\u4DBFb\u4E00\u9FFFc\uF900\uFAFFd") ==
        Texts{"a", "\u3400", "\u4DBF", "b", "\u4E00", "\u9FFF", "c", "\uF900", "\uFAFF", "d"});
  CHECK(pieces("\U00020000\U0002FA1Fx") == Texts{"\U00020000", "\U0002FA1F", "x"});
  CHECK(pieces("\u3068\u304B\uD55C\uAE00") == Texts{"\u3068\u304B\uD55C\uAE00"});
}

TEST_CASE("bytes of a context that are not UTF-8 are of words", "[data-answers]") {
  CHECK(pieces("a\xFF\xE5 b") == Texts{"a\xFF\xE5", "b"});
}

}  // namespace context_pieces_test
