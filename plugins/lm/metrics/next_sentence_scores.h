// SPDX-License-Identifier: Apache-2.0
// NextSentenceScores: over the rows with a weight, "next_sentence_accuracy" is the share of right
// answers of lm/Bert's next-sentence head, and "next_sentence_loss" the mean of -ln p in nats.
// Chance is an accuracy of 0.5 and a loss of ln 2. Models without that head have neither.
#pragma once

#include "trivet/metric.h"

namespace trivet::lm {

class NextSentenceScores final : public Metric {
 public:
  void update_state(const Batch& batch, const NestedMap& outputs) override;
  Logs result() const override;
  void reset_state() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;
  void merge(const Value& state) override;

 private:
  double rows_ = 0, right_ = 0, loss_ = 0;
};

}  // namespace trivet::lm
