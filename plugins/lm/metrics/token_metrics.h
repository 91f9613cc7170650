// SPDX-License-Identifier: Apache-2.0
// Scores a language model's predictions, over the tokens whose "weights" are not 0:
//
//   log_pplx          mean of -ln p(label)
//   bits_per_byte     sum of -log2 p(label) over the bytes of the labels, if batches have
//                     "label_bytes": comparable between tokenizers
//   fraction_of_correct_next_step_preds   if the model returns "per_example_argmax"; `accuracy`
//                     sets its name
//   num_predictions   sum of the weights
//
// The names of Praxis' LanguageModel.
#pragma once

#include <string>

#include "trivet/metric.h"

namespace trivet::lm {

struct TokenMetricsConfig : MetricConfig {
  std::string accuracy = "fraction_of_correct_next_step_preds";
  bool bits_per_byte = true;
};
TRIVET_CONFIG(TokenMetricsConfig, trivet::MetricConfig,
              (accuracy,
               "Name of the accuracy: the share of labels that were the most likely token."),
              (bits_per_byte, "Reports bits per byte for batches with \"label_bytes\"."))

class TokenMetrics final : public Metric {
 public:
  using Config = TokenMetricsConfig;
  explicit TokenMetrics(const Config& config);

  void update_state(const Batch& batch, const NestedMap& outputs) override;
  Logs result() const override;
  void reset_state() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;
  void merge(const Value& state) override;

 private:
  std::string accuracy_;
  bool per_byte_;
  double xent_ = 0, weight_ = 0, correct_ = 0, judged_ = 0, bytes_ = 0;
};

}  // namespace trivet::lm
