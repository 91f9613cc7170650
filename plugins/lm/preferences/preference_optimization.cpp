// SPDX-License-Identifier: Apache-2.0
#include "lm/preferences/preference_optimization.h"

#include <cmath>
#include <limits>
#include <regex>
#include <utility>

#include "lm/metrics/real_rows.h"
#include "lm/preferences/preference_metrics.h"
#include "lm/preferences/preference_model.h"
#include "trivet/error.h"
#include "trivet/ops/host_array.h"
#include "trivet/train/init_checkpoint.h"

namespace trivet::lm {
namespace {

constexpr const char* kReference = "reference";

// The same layers under shared names of their own, so that the reference shares none with the
// policy.
Value with_own_shares(const Value& value) {
  if (value.is_array()) {
    Value::Array items;
    for (const Value& item : value.items()) items.push_back(with_own_shares(item));
    return items;
  }
  if (!value.is_table()) return value;
  Value table = Value::table();
  for (const Value::Member& field : value.members()) {
    const Value& own = field.value;
    const bool is_share = field.key == "shared" && own.is_string() && !own.as_string().empty();
    table.set(field.key,
              is_share ? Value(kReference + ("/" + own.as_string())) : with_own_shares(own));
  }
  return table;
}

ConfigOf<Model> reference_of(const ConfigOf<Model>& config) {
  if (!config.has_value()) return config;
  return {std::string(config.key()), with_own_shares(config.fields())};
}

}  // namespace

void PreferenceOptimizationConfig::validate(Diagnostics& diagnostics) const {
  LanguageModelingConfig::validate(diagnostics);
  if (!std::isfinite(beta)) diagnostics.add("beta", "must be finite");
}

PreferenceOptimization::PreferenceOptimization(const Config& config, TaskContext& context)
    : LanguageModeling(config, context), beta_(config.beta) {}

std::unique_ptr<Model> PreferenceOptimization::build_model(const ConfigOf<Model>& config,
                                                           Scope& scope) {
  if (config.has_value() && config.fields().float_or("entropy_loss_weight", 0) != 0) {
    throw ConfigError(Diagnostic{.path = "task.model.entropy_loss_weight",
                                 .what = "is set, and the loss of preferences has no such part",
                                 .hint = "remove it"});
  }
  policy_path_ = scope.path().empty() ? "" : scope.path() + "/";
  std::unique_ptr<Model> policy = LanguageModeling::build_model(config, scope);
  Scope below = scope.child(kReference);
  std::unique_ptr<Model> reference = LanguageModeling::build_model(reference_of(config), below);
  ParameterStore& store = scope.store();
  for (const auto& parameter : store.parameters()) {
    const bool is_reference = parameter->path().starts_with(below.path() + "/");
    if (is_reference && parameter->trainable()) store.freeze(*parameter);
  }
  return std::make_unique<PreferenceModel>(std::move(policy), std::move(reference), beta_);
}

void PreferenceOptimization::initialize(ParameterStore& store) {
  if (config().init_checkpoint.empty()) {
    throw ConfigError(
        Diagnostic{.path = "task.init_checkpoint",
                   .what = "is not set, and preferences are learned by a trained model",
                   .hint = "name the checkpoints of a run of lm/LanguageModeling"});
  }
  const std::string reference = policy_path_ + kReference + "/";
  InitLoadConfig load = config().init_load;
  load.ignore.push_back(std::regex_replace(reference, std::regex("\\."), "\\.") + ".*");
  LoadReport report = load_weights(store, config().init_checkpoint.text, load);
  std::erase_if(report.entries, [&](const LoadReport::Entry& entry) {
    return entry.variable.starts_with(reference);
  });
  set_init_report(std::move(report));
  check_loaded_embeddings();
  for (const auto& parameter : store.parameters()) {
    if (!parameter->path().starts_with(reference)) continue;
    const Parameter* own = store.find(policy_path_ + parameter->path().substr(reference.size()));
    if (own == nullptr) throw Error("the reference has '" + parameter->path() + "' of its own");
    parameter->assign(own->value());
  }
}

WeightedScalar PreferenceOptimization::build_losses(const Batch&, const NestedMap& outputs,
                                                    const FpropContext& context) {
  Tensor loss = loss_terms().empty() ? outputs.at("dpo_loss") : sum_of(loss_terms(), outputs);
  return {add_aux_losses(std::move(loss), context), outputs.at("total_weight").item()};
}

Metrics PreferenceOptimization::build_metrics(Phase) {
  Metrics metrics;
  metrics.push_back(std::make_unique<PreferenceMetrics>());
  return with_losses(std::move(metrics));
}

ExpectedInitialLoss::Range PreferenceOptimization::expected_initial_loss() const {
  if (!loss_terms().empty()) {
    return {0, std::numeric_limits<double>::infinity(), "a sum of losses"};
  }
  return {0.6, 0.8, "ln(2) = 0.69 for a policy that equals its reference"};
}

std::vector<Value> PreferenceOptimization::predictions(const Batch& batch,
                                                       const NestedMap& outputs) const {
  const HostArray<float> chosen(outputs.at("chosen_reward")),
      rejected(outputs.at("rejected_reward"));
  std::vector<Value> columns;
  for (const bool is_real : real_rows(batch, outputs.at("chosen_reward").dim(0))) {
    const std::int64_t row = std::ssize(columns);
    Value& own = columns.emplace_back();
    if (!is_real) continue;
    own = Value::table({{"chosen_reward", chosen[row]},
                        {"rejected_reward", rejected[row]},
                        {"reward_margin", chosen[row] - rejected[row]}});
  }
  return columns;
}

}  // namespace trivet::lm
