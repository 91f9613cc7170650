// SPDX-License-Identifier: Apache-2.0
// ClassCounts: how often classes were right, told and true, and the scores made of it.
#pragma once

#include <cstdint>
#include <vector>

#include "trivet/config/value.h"

namespace trivet::lm {

class ClassCounts {
 public:
  explicit ClassCounts(std::int64_t classes);
  std::int64_t classes() const { return static_cast<std::int64_t>(true_.size()); }

  // A truth outside the classes does not count.
  void add(std::int64_t truth, std::int64_t told);

  // Share of examples that were right. All scores are 0 where they are 0 / 0.
  double accuracy() const;
  // 2 TP / (told + true) of one class.
  double f1(std::int64_t c) const;
  // The mean over the classes that were true or told at least once.
  double macro_f1() const;
  // Gorodkin 2004 for K classes, which for two is Matthews 1975:
  //   (c s - sum p_k t_k) / sqrt((s^2 - sum p_k^2) (s^2 - sum t_k^2))
  // with c right ones of s, and each class told p_k and true t_k times.
  double matthews_corrcoef() const;

  // What metrics keep. Throws Error for a state of another number of classes.
  Value save_state() const;
  void restore_state(const Value& state);

 private:
  std::vector<double> right_, told_, true_;
};

}  // namespace trivet::lm
