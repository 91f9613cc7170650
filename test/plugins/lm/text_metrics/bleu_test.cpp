// SPDX-License-Identifier: Apache-2.0
// BLEU against sacreBLEU's published example, its tokenizer by its rules, and counts by hand.
#include "lm/text_metrics/bleu.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "lm/text_metrics/words.h"
#include "trivet/error.h"

namespace bleu_test {

using namespace trivet;
using namespace trivet::lm;
using Texts = std::vector<std::string>;

namespace {

double bleu_of(const std::vector<std::pair<std::string, Texts>>& examples,
               BleuTokens tokenize = BleuTokens::v13a) {
  BleuConfig config;
  config.tokenize = tokenize;
  Bleu bleu(config);
  for (const auto& [decoded, references] : examples) bleu.add(decoded, references);
  return *bleu.result().find("bleu");
}

// The example of sacreBLEU's README ("Using SacreBLEU from Python"), with its score
// "BLEU = 48.53 82.4/50.0/45.5/37.5 (BP = 0.943 ratio = 0.944 hyp_len = 17 ref_len = 18)".
const std::vector<std::pair<std::string, Texts>> kReadme = {
    {"The dog bit the man.", {"The dog bit the man.", "The dog had bit the man."}},
    {"It wasn't surprising.", {"It was not unexpected.", "No one was surprised."}},
    {"The man had just bitten him.", {"The man bit him first.", "The man had bitten the dog."}}};

Texts words_13a(const std::string& text) {
  return split_words(tokenize_13a(text));
}

}  // namespace

TEST_CASE("BLEU of sacreBLEU's example") {
  CHECK(bleu_of(kReadme) == Approx(48.53).margin(0.005));
  // The same by its parts: 14/17, 7/14, 5/11, 3/8, and 17 tokens for 18.
  const double mean = std::log(14.0 / 17 * 7 / 14 * 5 / 11 * 3 / 8) / 4;
  CHECK(bleu_of(kReadme) == Approx(100 * std::exp(1 - 18.0 / 17) * std::exp(mean)));
}

TEST_CASE("BLEU of equal, foreign, short and empty texts") {
  CHECK(bleu_of({{"a b c d e", {"a b c d e"}}}) == Approx(100));
  CHECK(bleu_of({{"x y z w", {"a b c d"}}}) == 0);
  CHECK(bleu_of({{"a b c", {"a b c"}}}) == 0);  // no 4-gram in the whole data set
  CHECK(bleu_of({{"", {"a b c d"}}}) == 0);
  CHECK(bleu_of({}) == 0);
  // Orders 3 and 4 have no match: 4/4, 2/3, 1/(2 * 2), 1/(4 * 1).
  CHECK(bleu_of({{"a b d c", {"a b c d"}}}) ==
        Approx(100 * std::pow(4.0 / 4 * 1 / 3 * 1 / 4 * 1 / 4, 0.25)));
  // Of two references that are equally close the shorter gives the length: no penalty.
  CHECK(bleu_of({{"a b c d e", {"a b c d e f", "a b c d"}}}) == Approx(100));
  // A word counts as often as in the reference with the most of it (Papineni et al. 2002, "the the
  // the the the the the": 2/7).
  Bleu bleu{BleuConfig()};
  bleu.add("the the the the the the the", Texts{"The cat is on the mat", "the cat and the mat"});
  CHECK(bleu.save_state().at("correct", "state").items()[0].as_integer() == 2);
}

TEST_CASE("tokens of mteval-v13a") {
  CHECK(words_13a("Hello, world!") == Texts{"Hello", ",", "world", "!"});
  CHECK(words_13a("It costs 1,000.50 (or 3.5-4).") ==
        Texts{"It", "costs", "1,000.50", "(", "or", "3.5", "-", "4", ")", "."});
  CHECK(words_13a("It's a well-known &quot;fact&quot; &amp; so on") ==
        Texts{"It's", "a", "well-known", "\"", "fact", "\"", "&", "so", "on"});
  CHECK(words_13a("a,b 1,b b,1") == Texts{"a", ",", "b", "1", ",", "b", "b", ",", "1"});
  CHECK(words_13a("state-\nof the\nart") == Texts{"stateof", "the", "art"});
  CHECK(words_13a("caf\xc3\xa9.\xc3\xa9t\xc3\xa9") ==
        Texts{"caf\xc3\xa9", ".", "\xc3\xa9t\xc3\xa9"});
  CHECK(words_13a("no\xc2\xa0"
                  "break") == Texts{"no", "break"});
  CHECK(words_13a("\xff,\xfe") == Texts{"\xff", ",", "\xfe"});
}

TEST_CASE("other tokens of BLEU") {
  CHECK(bleu_of({{"a, b c d", {"a, b c d"}}}, BleuTokens::none) == Approx(100));
  CHECK(bleu_of({{"ab cd", {"a bc d"}}}, BleuTokens::characters) == Approx(100));
  CHECK(bleu_of({{"\xe4\xb8\xad\xe6\x96\x87\xe6\x96\x87\xe4\xb8\xad",
                  {"\xe4\xb8\xad\xe6\x96\x87\xe6\x96\x87\xe4\xb8\xad"}}},
                BleuTokens::characters) == Approx(100));
}

TEST_CASE("BLEU of parts of a data set adds up to that of the whole") {
  Bleu first{BleuConfig()}, second{BleuConfig()};
  first.add(kReadme[0].first, kReadme[0].second);
  second.add(kReadme[1].first, kReadme[1].second);
  second.add(kReadme[2].first, kReadme[2].second);
  first.merge(second.save_state());
  CHECK(*first.result().find("bleu") == bleu_of(kReadme));
  first.reset_state();
  CHECK(*first.result().find("bleu") == 0);
  CHECK_THROWS_AS(first.merge(Value::table({})), Error);
}

}  // namespace bleu_test
