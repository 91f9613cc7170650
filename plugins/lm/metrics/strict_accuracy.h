// SPDX-License-Identifier: Apache-2.0
// The share of the rows of which every token with a weight was the most likely one, as
// "acc_strict": Praxis' report_strict_acc. Rows without such a token do not count.
#pragma once

#include "trivet/metric.h"

namespace trivet::lm {

struct StrictAccuracyConfig : MetricConfig {};
TRIVET_CONFIG(StrictAccuracyConfig, trivet::MetricConfig)

class StrictAccuracy final : public Metric {
 public:
  using Config = StrictAccuracyConfig;
  explicit StrictAccuracy(const Config&) {}

  // Reads "labels" i32 and "weights" f32 [B, T] of the batch, and the output "per_example_argmax"
  // i32 [B, T], which there is outside training.
  void update_state(const Batch& batch, const NestedMap& outputs) override;
  Logs result() const override;
  void reset_state() override { right_ = rows_ = 0; }
  Value save_state() const override;
  void restore_state(const Value& state) override;
  void merge(const Value& state) override;

 private:
  std::int64_t right_ = 0, rows_ = 0;
};

}  // namespace trivet::lm
