// SPDX-License-Identifier: Apache-2.0
#include "classification.h"

#include "scores.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/train/predictions.h"

namespace trivet::tabular {

Classification::Classification(const Config& config, TaskContext& context)
    : TabularTask(config, Target::classes, context) {}

std::int64_t Classification::output_dims() {
  names_ = encoding().classes;
  classes_ = std::ssize(names_);
  return classes_;
}

WeightedScalar Classification::build_losses(const Batch& batch, const NestedMap& outputs,
                                            const FpropContext& context) {
  const Tensor& logits = outputs.at("logits");
  if (logits.rank() != 2 || logits.dim(1) != output_dims()) {
    throw Error("tabular/Classification: expected logits [B, " + std::to_string(classes_) +
                "] from the model, got " + logits.to_string());
  }
  const Tensor* weights = batch.find("weight");
  const Tensor each = ops::softmax_cross_entropy(logits, batch.at("label"));
  Tensor loss = ops::weighted_mean(each, weights != nullptr ? *weights : Tensor());
  return {add_aux_losses(std::move(loss), context), sum_of_weights(batch)};
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
