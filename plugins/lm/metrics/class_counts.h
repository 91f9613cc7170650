// SPDX-License-Identifier: Apache-2.0
// ClassCounts: per class the true, predicted and correct counts, and scores from them.
#pragma once

#include <cstdint>
#include <vector>

#include "trivet/config/value.h"

namespace trivet::lm {

class ClassCounts {
 public:
  explicit ClassCounts(std::int64_t classes);
  std::int64_t classes() const { return static_cast<std::int64_t>(true_.size()); }

  // A label outside the classes is ignored.
  void add(std::int64_t truth, std::int64_t told);

  // The share of correct examples. All scores are 0 where they are 0 / 0.
  double accuracy() const;
  // 2 TP / (predicted + true) of one class.
  double f1(std::int64_t c) const;
  // The mean over classes that were true or predicted at least once.
  double macro_f1() const;
  // Gorodkin 2004 for K classes, which for two is Matthews 1975: (c s - sum p_k t_k) / sqrt((s^2 -
  // sum p_k^2) (s^2 - sum t_k^2)) with c correct of s, and each class predicted p_k and true t_k
  // times.
  double matthews_corrcoef() const;

  // The state of a metric. Throws Error for a state with another number of classes.
  Value save_state() const;
  void restore_state(const Value& state);
  void merge(const Value& state);

 private:
  std::vector<double> right_, told_, true_;
};

}  // namespace trivet::lm
