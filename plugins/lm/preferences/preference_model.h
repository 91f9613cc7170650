// SPDX-License-Identifier: Apache-2.0
// PreferenceModel: a language model that learns which answers are preferred (the policy), beside
// the one that it started from (the reference), for direct preference optimization (Rafailov et al.
// 2023, equation 7).
//
//   log pi(y)   the sum of weight * log p(label) over a row's positions
//   r(y)        beta (log pi(y) - log pi_ref(y)), the implicit reward
//   dpo_loss    the mean of -log sigmoid(r(chosen) - r(rejected)) over the pairs, by "weight"
//
// Reads the batches of data/PreferencePairs. Outputs: "dpo_loss", "chosen_xent" (the mean cross
// entropy of the preferred answers' tokens) and "total_weight" (the pairs), scalars;
// "chosen_reward", "rejected_reward", "chosen_log_probability" and "rejected_log_probability" f32
// [B]. The reference never trains, without dropout, and has no gradient.
//
// All that a model can do beside (generation, ..) is the policy's.
#pragma once

#include <memory>

#include "lm/models/label_scores.h"
#include "trivet/model.h"

namespace trivet::lm {

class PreferenceModel final : public Model {
 public:
  // Throws ConfigError at task.model if they are no LabelScores.
  PreferenceModel(std::unique_ptr<Model> policy, std::unique_ptr<Model> reference, double beta);

  NestedMap fprop(const Batch& batch, FpropContext& context) override;
  const void* extension(std::string_view id) const noexcept override;

 private:
  std::unique_ptr<Model> policy_, reference_;
  LabelScores *policy_scores_, *reference_scores_;
  float beta_;
};

}  // namespace trivet::lm
