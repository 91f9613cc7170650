// SPDX-License-Identifier: Apache-2.0
// SquadScore: the scores of SQuAD's official scripts, in percent: evaluate-v1.1.py (Rajpurkar et
// al. 2016) and, with `version_2`, evaluate-v2.0.py (Rajpurkar et al. 2018).
//
//   exact_match   the mean over questions of whether the answer equals one of the right ones, after
//                 normalize_answer: lower case, no punctuation, no articles, single blanks
//   f1            the mean of the largest F1 of the words of the answer and of a right one
//
// The scripts differ where a text has no words once normalized, such as "the". In version 1 its F1
// is 0 with every text. In version 2 right answers without words do not count, and a question that
// has no other, or none at all, has the right answer ""; F1 is 1 where neither text has words.
//
// Version 2 also has HasAns_exact, HasAns_f1, NoAns_exact and NoAns_f1 over the questions with and
// without answers, and the best scores over all thresholds of the score of no answer: best_exact,
// best_exact_thresh, best_f1, best_f1_thresh. These are what the script reports of the best parts
// of all contexts, with null_difference as the probability of no answer. A threshold is 0 where it
// is best to answer nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trivet/train/logs.h"

namespace trivet::lm {

struct ScoredAnswer {
  std::string best;                  // the best part of the context; may be empty
  double null_difference = 0;        // score of no answer minus that of `best`
  std::vector<std::string> answers;  // the right ones; empty: there is none
};

// exact_match_score (compute_exact) and f1_score (compute_f1) of two texts.
double squad_exact(const std::string& answer, const std::string& truth);
double squad_f1(const std::string& answer, const std::string& truth, bool version_2);

// An answer is "" where its null_difference is above `threshold` and `version_2` is set. Empty
// without questions.
Logs squad_scores(const std::vector<ScoredAnswer>& answers, bool version_2, double threshold);

}  // namespace trivet::lm
