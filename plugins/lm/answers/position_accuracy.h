// SPDX-License-Identifier: Apache-2.0
// PositionAccuracy: the shares of rows whose likeliest start and end are right:
// "start_position_accuracy" and "end_position_accuracy" (Model Garden's question_answering).
#pragma once

#include "trivet/metric.h"

namespace trivet::lm {

class PositionAccuracy final : public Metric {
 public:
  void update_state(const Batch& batch, const NestedMap& outputs) override;
  Logs result() const override;
  void reset_state() override { starts_ = ends_ = rows_ = 0; }
  Value save_state() const override;
  void restore_state(const Value& state) override;
  void merge(const Value& state) override;

 private:
  double starts_ = 0, ends_ = 0, rows_ = 0;
};

}  // namespace trivet::lm
