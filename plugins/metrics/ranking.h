// SPDX-License-Identifier: Apache-2.0
// Ranking: the scores of positive and negative examples, and the areas below the curves that their
// order gives. Exact: 16 bytes for an example.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trivet/config/value.h"

namespace trivet::metrics {

class Ranking {
 public:
  void add(double score, double weight, bool positive);
  void clear() { examples_.clear(); }
  double positives() const;  // the sum of their weights

  // The area below the ROC curve: the probability that a random positive example has a higher score
  // than a random negative one, ties counting half (Mann and Whitney 1947; scikit-learn's
  // roc_auc_score). NaN if there is no positive or no negative example, or a score is NaN.
  double roc_auc() const;

  // Average precision: the sum over thresholds of (R_n - R_(n-1)) P_n, with the precision P_n and
  // recall R_n of the n highest scores; equal scores are one threshold (scikit-learn's
  // average_precision_score). NaN if there is no positive example, or a score is NaN.
  double average_precision() const;

  Value save_state() const;
  // Throws Error, naming `owner`, for a state that is none.
  void merge(const Value& state, const std::string& owner);

 private:
  struct Example {
    double score;
    float weight;
    bool positive;
  };
  bool sorted(std::vector<Example>& examples) const;

  std::vector<Example> examples_;
};

}  // namespace trivet::metrics
