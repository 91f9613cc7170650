// SPDX-License-Identifier: Apache-2.0
#include "classification.h"

#include <algorithm>

#include "scores.h"
#include "trivet/error.h"
#include "trivet/train/class_loss.h"
#include "trivet/train/predictions.h"

namespace trivet::tabular {

void ClassificationConfig::validate(Diagnostics& diagnostics) const {
  TabularConfig::validate(diagnostics);
  const auto is_zero = [](const auto& weight) { return weight.second == 0; };
  if (class_weights.size() > 1 && std::ranges::all_of(class_weights, is_zero)) {
    diagnostics.add("class_weights", "are all 0", "give a class that the model can learn more");
  }
}

Classification::Classification(const Config& config, TaskContext& context)
    : TabularTask(config, Target::classes, context), weights_by_name_(config.class_weights) {}

std::int64_t Classification::output_dims() {
  if (names_.empty()) {
    names_ = encoding().classes;
    classes_ = std::ssize(names_);
    set_weights();
  }
  return classes_;
}

void Classification::set_weights() {
  if (weights_by_name_.empty()) return;
  class_weights_.assign(names_.size(), 1);
  for (const auto& [name, weight] : weights_by_name_) {
    const auto found = std::ranges::find(names_, name);
    if (found == names_.end()) {
      std::string classes;
      for (const std::string& c : names_) classes += (classes.empty() ? "" : ", ") + c;
      throw ConfigError(Diagnostic{.path = "task.class_weights",
                                   .what = "'" + name + "' is not a class of the training rows",
                                   .hint = "the classes are " + classes});
    }
    class_weights_[static_cast<std::size_t>(found - names_.begin())] = weight;
  }
}

WeightedScalar Classification::build_losses(const Batch& batch, const NestedMap& outputs,
                                            const FpropContext& context) {
  const Tensor& logits = outputs.at("logits");
  if (logits.rank() != 2 || logits.dim(1) != output_dims()) {
    throw Error("tabular/Classification: expected logits [B, " + std::to_string(classes_) +
                "] from the model, got " + logits.to_string());
  }
  const WeightedScalar mean =
      class_loss(batch, logits, {.class_weights = class_weights_}, "tabular/Classification");
  return {add_aux_losses(mean.value, context), mean.weight};
}

Metrics Classification::build_metrics(Phase) {
  Metrics metrics;
  metrics.push_back(std::make_unique<Accuracy>(AccuracyConfig{}));
  return metrics;
}

std::unique_ptr<AggregatedLogs> Classification::aggregate_logs(
    std::unique_ptr<AggregatedLogs> state, const StepOutput& step) {
  if (output_dims() != 2) return state;
  if (state == nullptr) state = std::make_unique<RocCurve>();
  static_cast<RocCurve&>(*state).add(Predictions(step.batch, step.outputs));
  return state;
}

Logs Classification::reduce_aggregated_logs(AggregatedLogs& state, std::int64_t) {
  Logs logs;
  logs.set("auc", static_cast<const RocCurve&>(state).area());
  return logs;
}

const void* Classification::extension(std::string_view id) const noexcept {
  if (id == kTaskExpectedInitialLoss) return static_cast<const ExpectedInitialLoss*>(this);
  if (id == kTaskPredictor) return static_cast<const Predictor*>(this);
  return Task::extension(id);
}

std::vector<Value> Classification::predictions(const Batch& batch, const NestedMap& outputs) const {
  return class_predictions(batch, outputs.at("logits"), names_);
}

}  // namespace trivet::tabular
