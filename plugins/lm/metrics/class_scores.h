// SPDX-License-Identifier: Apache-2.0
// ClassScores: scores a classifier's "logits" [B, classes] against "label" i32 [B], over examples
// whose "weight" is not 0: accuracy, matthews_corrcoef, and f1 (of class 1) for two classes,
// macro_f1 for more (class_counts.h).
#pragma once

#include "lm/metrics/class_counts.h"
#include "trivet/metric.h"

namespace trivet::lm {

class ClassScores final : public Metric {
 public:
  explicit ClassScores(std::int64_t classes) : counts_(classes) {}

  void update_state(const Batch& batch, const NestedMap& outputs) override;
  Logs result() const override;
  void reset_state() override { counts_ = ClassCounts(counts_.classes()); }
  Value save_state() const override { return counts_.save_state(); }
  void restore_state(const Value& state) override { counts_.restore_state(state); }
  void merge(const Value& state) override { counts_.merge(state); }

 private:
  ClassCounts counts_;
};

}  // namespace trivet::lm
