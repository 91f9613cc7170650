// SPDX-License-Identifier: Apache-2.0
// SQuAD's scores by hand, from the functions of evaluate-v1.1.py (f1_score, exact_match_score,
// metric_max_over_ground_truths) and of evaluate-v2.0.py (normalize_answer, compute_exact,
// compute_f1, get_raw_scores, find_best_thresh).
#include "lm/answers/squad_score.h"

#include <limits>

#include <catch2/catch.hpp>

namespace squad_score_test {

using namespace trivet;
using namespace trivet::lm;

TEST_CASE("answers are compared as the official script does", "[lm-answers]") {
  CHECK(squad_exact("The  Eiffel-Tower!", "eiffeltower") == 1);
  CHECK(squad_exact("an apple", "apple") == 1);
  CHECK(squad_exact("apples", "apple") == 0);
  CHECK(squad_exact("", "the") == 1);
  // Articles end at word boundaries of Python's re: a curly quote is no letter, an accent is.
  CHECK(squad_exact("\xE2\x80\x9Cthe Matrix\xE2\x80\x9D", "\xE2\x80\x9C matrix\xE2\x80\x9D") == 1);
  CHECK(squad_exact("th\xC3\xA9 a", "th\xC3\xA9") == 1);
  CHECK(squad_exact("an\xC3\xA9", "\xC3\xA9") == 0);
}

TEST_CASE("F1 is that of the words that two answers share", "[lm-answers]") {
  for (const bool version_2 : {false, true}) {
    // Two of three and two of four words: 2 (2/3) (2/4) / (2/3 + 2/4).
    CHECK(squad_f1("in old Paris", "old Paris of France", version_2) == Approx(4.0 / 7));
    // A word counts as often as both have it.
    CHECK(squad_f1("go go go", "go go stop", version_2) == Approx(2.0 / 3));
    CHECK(squad_f1("go go", "go", version_2) == Approx(2.0 / 3));
    CHECK(squad_f1("x", "", version_2) == 0);
    CHECK(squad_f1("", "x", version_2) == 0);
  }
  // f1_score of evaluate-v1.1.py is 0 where num_same is; compute_f1 of evaluate-v2.0.py is
  // int(gold_toks == pred_toks) where one of both is empty.
  CHECK(squad_f1("", "", false) == 0);
  CHECK(squad_f1("the", "a", false) == 0);
  CHECK(squad_f1("", "", true) == 1);
  CHECK(squad_f1("the", "", true) == 1);
}

TEST_CASE("scores of version 1 are means of the best right answer", "[lm-answers]") {
  const std::vector<ScoredAnswer> answers = {
      {.best = "old Paris", .answers = {"Paris", "Old Paris."}},
      {.best = "Rome", .null_difference = 99, .answers = {"Rome Italy", "Milan"}},
      {.best = "Oslo", .answers = {"Bergen"}},
      {.best = "", .null_difference = 99, .answers = {"Lima"}},
  };
  const Logs logs = squad_scores(answers, false, 0);
  CHECK(*logs.find("exact_match") == 25);
  CHECK(*logs.find("f1") == Approx(100 * (1 + 2.0 / 3) / 4));
  CHECK(logs.size() == 2);
  CHECK(squad_scores({}, false, 0).find("f1") == nullptr);
}

TEST_CASE("each version scores answers without words by its script", "[lm-answers]") {
  const std::vector<ScoredAnswer> answers = {
      {.best = "the", .answers = {"the", "cat"}},
      {.best = "a", .answers = {"The!"}},
      {.best = "cat", .answers = {"the"}},
  };
  // metric_max_over_ground_truths takes all right answers: exact 1, 1, 0; F1 0, 0, 0.
  const Logs first = squad_scores(answers, false, 0);
  CHECK(*first.find("exact_match") == Approx(200.0 / 3));
  CHECK(*first.find("f1") == 0);
  // gold_answers leaves "the" out, and is [''] where nothing is left: "the" against "cat", "a" and
  // "cat" against "": exact 0, 1, 0; F1 0, 1, 0.
  const Logs second = squad_scores(answers, true, 0);
  CHECK(*second.find("HasAns_exact") == Approx(100.0 / 3));
  CHECK(*second.find("HasAns_f1") == Approx(100.0 / 3));
}

TEST_CASE("scores of version 2 know questions without an answer", "[lm-answers]") {
  // Two have an answer, two have none. With the threshold 0 the second and third are "".
  const std::vector<ScoredAnswer> answers = {
      {.best = "Rome", .null_difference = -3, .answers = {"Rome"}},
      {.best = "Oslo town", .null_difference = 1, .answers = {"Oslo"}},
      {.best = "x", .null_difference = 2, .answers = {}},
      {.best = "y", .null_difference = -1, .answers = {}},
  };
  const Logs logs = squad_scores(answers, true, 0);
  CHECK(*logs.find("exact_match") == 50);
  CHECK(*logs.find("f1") == 50);
  CHECK(*logs.find("HasAns_exact") == 50);
  CHECK(*logs.find("NoAns_exact") == 50);
  // No answer at all scores 2 of 4; with the first 3; the fourth costs one; the second gives F1
  // 2/3.
  CHECK(*logs.find("best_exact") == 75);
  CHECK(*logs.find("best_exact_thresh") == -3);
  CHECK(*logs.find("best_f1") == 75);
  CHECK(*logs.find("best_f1_thresh") == -3);
  // A higher threshold gives the second answer: F1 (1 + 2/3) / 2 over those that have one.
  const Logs higher = squad_scores(answers, true, 1.5);
  CHECK(*higher.find("HasAns_f1") == Approx(100 * (1 + 2.0 / 3) / 2));
  CHECK(*higher.find("NoAns_f1") == 50);
  // A difference at the threshold is an answer.
  CHECK(*squad_scores(answers, true, 1).find("HasAns_exact") == 50);
  CHECK(*squad_scores(answers, true, 1).find("HasAns_f1") == Approx(100 * (1 + 2.0 / 3) / 2));
  // Without a text the difference is infinite: no answer.
  std::vector<ScoredAnswer> unfound = answers;
  unfound.push_back({"", std::numeric_limits<double>::infinity(), {"Bonn"}});
  CHECK(*squad_scores(unfound, true, 0).find("HasAns_exact") == Approx(100.0 / 3));
  CHECK(*squad_scores(unfound, true, 0).find("best_exact") == 60);
  // Where all answers are wrong, none is best.
  const Logs none = squad_scores({{.best = "x", .null_difference = 1, .answers = {}}}, true, 5);
  CHECK(*none.find("exact_match") == 0);
  CHECK(*none.find("best_exact") == 100);
  CHECK(*none.find("best_exact_thresh") == 0);
}

}  // namespace squad_score_test
