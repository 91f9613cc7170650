// SPDX-License-Identifier: Apache-2.0
// Scores of a model that learns preferences, as means over the pairs by their "weight"
// (Rafailov et al. 2023; preference_model.h has the outputs):
//
//   reward_accuracy    share of the pairs whose chosen answer has the larger reward
//   p_correct_ranking  mean of sigmoid(chosen_reward - rejected_reward), as Praxis computes it
//   reward_margin      chosen_reward - rejected_reward
//   chosen_reward, rejected_reward, chosen_log_probability, rejected_log_probability
//   num_pairs          sum of the weights
#pragma once

#include <array>

#include "trivet/metric.h"

namespace trivet::lm {

class PreferenceMetrics final : public Metric {
 public:
  void update_state(const Batch& batch, const NestedMap& outputs) override;
  Logs result() const override;
  void reset_state() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;
  void merge(const Value& state) override;

 private:
  std::array<double, 6> sums_{};  // of the two computed means and of the four outputs
  double weight_ = 0;
};

}  // namespace trivet::lm
