// SPDX-License-Identifier: Apache-2.0
#include "lm/preferences/preference_model.h"

#include <utility>
#include <vector>

#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/tape.h"

namespace trivet::lm {
namespace {

// The rows of chosen answers, then those of the others.
Batch both_sides(const Batch& batch) {
  const Batch chosen = batch.child("chosen"), rejected = batch.child("rejected");
  if (!chosen.contains("ids") || !rejected.contains("ids")) {
    throw UsageError("the batch has no pairs of answers",
                     {.hint = "lm/PreferenceOptimization reads data/PreferencePairs"});
  }
  Batch both;
  for (const auto& [name, tensor] : chosen) {
    both.set(name, ops::concat(std::vector<Tensor>{tensor, rejected.at(name)}, 0));
  }
  return both;
}

// Of each row of [2 B, T]: [2 B].
Tensor row_scores(LabelScores& model, const Batch& both, FpropContext& context) {
  return ops::sum(ops::mul(model.label_log_probabilities(both, context), both.at("weights")), -1);
}

LabelScores* scores_of(Model& model) {
  if (LabelScores* scores = label_scores(model)) return scores;
  throw ConfigError(Diagnostic{
      .path = "task.model",
      .what = "does not give log probabilities of labels, which preference optimization needs",
      .hint = "use lm/LanguageModel"});
}

}  // namespace

PreferenceModel::PreferenceModel(std::unique_ptr<Model> policy, std::unique_ptr<Model> reference,
                                 double beta)
    : policy_(std::move(policy)),
      reference_(std::move(reference)),
      policy_scores_(scores_of(*policy_)),
      reference_scores_(scores_of(*reference_)),
      beta_(static_cast<float>(beta)) {}

NestedMap PreferenceModel::fprop(const Batch& batch, FpropContext& context) {
  const Batch both = both_sides(batch);
  const std::int64_t pairs = both.at("ids").dim(0) / 2;
  const Tensor scores = row_scores(*policy_scores_, both, context);
  Tensor reference;
  {
    const NoGrad no_grad;
    FpropContext own;
    own.step = context.step;
    own.key = context.key;
    reference = row_scores(*reference_scores_, both, own);
  }
  const Tensor rewards = ops::mul(ops::sub(scores, reference), beta_);
  const auto chosen = [&](const Tensor& x) { return ops::slice(x, 0, 0, pairs); };
  const auto rejected = [&](const Tensor& x) { return ops::slice(x, 0, pairs, 2 * pairs); };
  const Tensor margins = ops::sub(chosen(rewards), rejected(rewards));
  const Tensor* given = batch.find("weight");
  const Tensor weight = given != nullptr ? *given : Tensor::full(scores.device(), {pairs}, 1);
  NestedMap outputs;
  outputs.set("dpo_loss", ops::weighted_mean(ops::softplus(ops::neg(margins)), weight));
  Tensor tokens, total_weight;
  {
    const NoGrad no_grad;
    tokens = ops::max(ops::sum(chosen(both.at("weights"))), Tensor::scalar(scores.device(), 1));
    total_weight = ops::sum(weight);
  }
  outputs.set("chosen_xent", ops::div(ops::neg(ops::sum(chosen(scores))), tokens));
  outputs.set("total_weight", total_weight);
  outputs.set("chosen_reward", ops::contiguous(chosen(rewards)));
  outputs.set("rejected_reward", ops::contiguous(rejected(rewards)));
  outputs.set("chosen_log_probability", ops::contiguous(chosen(scores)));
  outputs.set("rejected_log_probability", ops::contiguous(rejected(scores)));
  return outputs;
}

const void* PreferenceModel::extension(std::string_view id) const noexcept {
  return policy_->extension(id);
}

}  // namespace trivet::lm
