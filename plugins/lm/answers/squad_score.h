// SPDX-License-Identifier: Apache-2.0
// SquadScore: the scores of SQuAD's official script (evaluate-v2.0.py), in percent:
//
//   exact_match   the mean over questions of whether the answer equals one of the right ones, after
//                 normalize_answer: lower case, no punctuation, no articles, single blanks
//   f1            the mean of the largest F1 of the words of the answer and of a right one
//
// A question without answers has the right answer "". With `version_2` also HasAns_exact,
// HasAns_f1, NoAns_exact and NoAns_f1 over the questions with and without answers, and the best
// scores over all thresholds of the score of no answer: best_exact, best_exact_thresh, best_f1,
// best_f1_thresh.
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

// compute_exact and compute_f1 of two texts.
double squad_exact(const std::string& answer, const std::string& truth);
double squad_f1(const std::string& answer, const std::string& truth);

// An answer is "" where its null_difference is above `threshold` and `version_2` is set. Empty
// without questions.
Logs squad_scores(const std::vector<ScoredAnswer>& answers, bool version_2, double threshold);

}  // namespace trivet::lm
