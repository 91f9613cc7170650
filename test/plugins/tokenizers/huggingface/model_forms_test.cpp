// SPDX-License-Identifier: Apache-2.0
// WordPiece, Unigram, BPE over characters and whole words, against two other readers of
// tokenizer.json (peers.h).
#include <catch2/catch.hpp>

#include "forms.h"
#include "plugins/tokenizers/peer_check.h"

namespace model_forms_test {

using namespace trivet;
using namespace trivet::test;
using Json = nlohmann::json;

TEST_CASE("WordPiece as in BERT has the ids of other readers", "[tokenizers][slow]") {
  for (const bool lowercase : {true, false}) {
    CAPTURE(lowercase);
    // JavaScript has a rule for the sigma at the end of a word, and its reader takes ideographs
    // beyond the basic plane for letters.
    check_peers(word_piece_file(lowercase),
                {.javascript_differs = contains_any({"\u03a3", "\xF0\xA0\x80", "\xF0\xAF\xA0"})});
  }
}

TEST_CASE("Unigram has the ids of other readers", "[tokenizers][slow]") {
  for (const bool byte_fallback : {true, false}) {
    for (const char* scheme : {"always", "first", "never"}) {
      CAPTURE(byte_fallback, scheme);
      Json file = unigram_file(byte_fallback);
      file["pre_tokenizer"]["prepend_scheme"] = scheme;
      if (!byte_fallback) file["decoder"]["prepend_scheme"] = scheme;
      const std::size_t texts = std::string(scheme) == "always" ? 10'000 : 2000;
      check_peers(file, {.texts = texts, .javascript = false});
      // The JavaScript reader knows neither byte_fallback nor split, and its decoder drops one
      // blank of the first token; the library drops all, or none with "never".
      file["pre_tokenizer"]["split"] = false;
      check_peers(file, {.texts = texts, .javascript = !byte_fallback, .javascript_text = false});
    }
  }
}

TEST_CASE("BPE over characters as in Llama 2 has the ids of other readers", "[tokenizers][slow]") {
  check_peers(character_bpe_file(), {});
  // A blank is put before a text after an added token, too. U+2581 becomes a blank.
  Json file = character_bpe_file();
  file["added_tokens"] = Json::array();
  check_peers(file, {.lossless = true, .lossy = contains_any({"\u2581"})});
}

TEST_CASE("whole words have the ids of the library", "[tokenizers][slow]") {
  Json file = word_piece_file();
  file["model"] = {
      {"type", "WordLevel"}, {"unk_token", "[UNK]"}, {"vocab", file["model"]["vocab"]}};
  file["decoder"] = nullptr;
  check_peers(file, {.texts = 2000, .javascript = false});
}

}  // namespace model_forms_test
