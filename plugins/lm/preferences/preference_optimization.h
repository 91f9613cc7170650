// SPDX-License-Identifier: Apache-2.0
// PreferenceOptimization: a trained language model learns which of two answers to a prompt is
// preferred, by direct preference optimization (Rafailov et al. 2023; Praxis' LanguageModelDPO).
// preference_model.h has the loss, and data/PreferencePairs the data.
//
// task.init_checkpoint is required: a new run loads the policy from it by the rules of
// task.init_load, and the reference is a copy of the loaded policy. The variables of the policy
// have the names of a language model's, those of the reference lie below "reference/". They are
// states: checkpoints hold them, and no optimizer changes them.
//
// `losses` may add up "dpo_loss" and "chosen_xent" (Pang et al. 2024); none: dpo_loss alone.
// Generation is that of LanguageModeling, by the policy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lm/tasks/language_modeling.h"

namespace trivet::lm {

struct PreferenceOptimizationConfig : LanguageModelingConfig {
  double beta = 0.1;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(PreferenceOptimizationConfig, LanguageModelingConfig,
              (beta,
               "Factor of the rewards. A smaller one lets the policy depart further from the "
               "reference.",
               more_than(0), adjustable))

class PreferenceOptimization final : public LanguageModeling {
 public:
  using Config = PreferenceOptimizationConfig;
  PreferenceOptimization(const Config& config, TaskContext& context);

  // Throws ConfigError for a model without LabelScores, and for one whose loss has further parts.
  std::unique_ptr<Model> build_model(const ConfigOf<Model>& config, Scope& scope) override;
  // Throws ConfigError without an init_checkpoint.
  void initialize(ParameterStore& store) override;
  WeightedScalar build_losses(const Batch& batch, const NestedMap& outputs,
                              const FpropContext& context) override;
  Metrics build_metrics(Phase phase) override;
  Range expected_initial_loss() const override;
  // "chosen_reward", "rejected_reward" and "reward_margin" of each pair.
  std::vector<Value> predictions(const Batch& batch, const NestedMap& outputs) const override;

 protected:
  std::vector<std::string> row_prefixes() const override { return {"chosen/", "rejected/"}; }

 private:
  double beta_;
  std::string policy_path_;  // before the names of the policy's variables: empty, or "name/"
};

}  // namespace trivet::lm
