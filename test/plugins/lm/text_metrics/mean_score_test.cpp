// SPDX-License-Identifier: Apache-2.0
// Text metrics of single examples: SQuAD's rules, ROUGE-L, and error rates, by hand and by
// published examples.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "lm/text_metrics/error_rate.h"
#include "lm/text_metrics/exact_match.h"
#include "lm/text_metrics/rouge_l.h"
#include "lm/text_metrics/words.h"

namespace mean_score_test {

using namespace trivet;
using namespace trivet::lm;
using Texts = std::vector<std::string>;

namespace {

template <class Metric, class Config = typename Metric::Config>
double score_of(const std::vector<std::pair<std::string, Texts>>& examples, Config config = {}) {
  Metric metric(config);
  for (const auto& [decoded, references] : examples) metric.add(decoded, references);
  return metric.result().begin()->second;
}

}  // namespace

TEST_CASE("words of SQuAD's normalize_answer") {
  CHECK(squad_words("The  Cat, sat on a mat.") == Texts{"cat", "sat", "on", "mat"});
  CHECK(squad_words("U.S.A. an-theory") == Texts{"usa", "antheory"});
  CHECK(squad_words("\xc3\x89T\xc3\x89 a") == Texts{"\xc3\xa9t\xc3\xa9"});
  CHECK(squad_words("the").empty());
  CHECK(split_words(" a\xe3\x80\x80"
                    "b\t\nc ") == Texts{"a", "b", "c"});
}

TEST_CASE("exact match and F1 of SQuAD's rules") {
  CHECK(score_of<ExactMatch>({{"yes", {"yes"}}, {"no", {"yes", "no"}}, {"No", {"no"}}}) ==
        Approx(2.0 / 3));
  CHECK(score_of<ExactMatch>({{"The cat!", {"cat"}}}, {{}, true}) == 1);
  CHECK(score_of<ExactMatch>({}) == 0);
  // "Normans in France": 2 of 3 words of the text, 2 of 2 of the reference.
  CHECK(score_of<TokenF1>({{"Normans, in France", {"in France"}}}) == Approx(0.8));
  CHECK(score_of<TokenF1>({{"the", {""}}, {"", {"cat"}}}) == 0.5);
  CHECK(score_of<TokenF1>({{"a b b", {"b b c"}}}) == Approx(2 * 1.0 * (2.0 / 3) / (5.0 / 3)));
}

TEST_CASE("ROUGE-L of rouge_score's example") {
  // README of rouge_score: the longest common subsequence is "the quick brown jumps the".
  const std::string target = "The quick brown fox jumps over the lazy dog";
  const std::string text = "The quick brown dog jumps on the log.";
  const double precision = 5.0 / 8, recall = 5.0 / 9;
  CHECK(score_of<RougeL>({{text, {target}}}) ==
        Approx(2 * precision * recall / (precision + recall)));
  CHECK(score_of<RougeL>({{text, {"other", target}}}) == Approx(0.5882352941));
  CHECK(score_of<RougeL>({{"", {"a"}}, {"a", {""}}}) == 0);
  CHECK(score_of<RougeL>({{"don't", {"don t"}}}) == 1);
}

TEST_CASE("error rates over a whole data set") {
  // One substitution and one insertion in 3 words, one deletion in 2.
  CHECK(score_of<ErrorRate>({{"a x c d", {"a b c"}}, {"e", {"e f"}}}) == Approx(3.0 / 5));
  CHECK(score_of<ErrorRate>({{"a b", {"x y z", "a c"}}}) == Approx(0.5));
  CHECK(score_of<ErrorRate>({{"a b c", {"x"}}}) == 3);
  CHECK(score_of<ErrorRate>({{"", {""}}}) == 0);
  CHECK(score_of<ErrorRate>({{"a", {""}}}) == 1);
  // "kitten" and "sitting" are 3 apart (Levenshtein's usual example).
  CHECK(score_of<ErrorRate>({{"kit ten", {"sitting"}}}, {{}, ErrorUnit::character}) ==
        Approx(3.0 / 7));
}

TEST_CASE("text metrics of parts of a data set add up to those of the whole") {
  const std::vector<std::pair<std::string, Texts>> examples = {
      {"the cat sat", {"a cat sat down"}}, {"", {"x"}}, {"\xff\xfe b", {"b", "c"}}, {"b", {"b"}}};
  const auto check = [&](auto make) {
    const auto whole = make(), first = make(), second = make();
    for (std::size_t i = 0; i < examples.size(); ++i) {
      whole->add(examples[i].first, examples[i].second);
      (i < 2 ? first : second)->add(examples[i].first, examples[i].second);
    }
    first->merge(second->save_state());
    CHECK(first->result().begin()->second == whole->result().begin()->second);
    CHECK(whole->result().begin()->second > 0);
    whole->reset_state();
    CHECK(whole->result().begin()->second == make()->result().begin()->second);
  };
  check([] { return std::make_unique<ExactMatch>(ExactMatchConfig()); });
  check([] { return std::make_unique<TokenF1>(TokenF1Config()); });
  check([] { return std::make_unique<RougeL>(RougeLConfig()); });
  check([] { return std::make_unique<ErrorRate>(ErrorRateConfig()); });
}

}  // namespace mean_score_test
