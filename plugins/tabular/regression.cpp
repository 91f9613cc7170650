// SPDX-License-Identifier: Apache-2.0
#include "regression.h"

#include "scores.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/train/predictions.h"

namespace trivet::tabular {
namespace {

Tensor one_number_each(const NestedMap& outputs) {
  const Tensor& logits = outputs.at("logits");
  if (logits.rank() != 2 || logits.dim(1) != 1) {
    throw Error("tabular/Regression: expected logits [B, 1] from the model, got " +
                logits.to_string());
  }
  return ops::reshape(logits, {logits.dim(0)});
}

}  // namespace

Regression::Regression(const Config& config, TaskContext& context)
    : TabularTask(config, Target::number, context),
      loss_(config.loss),
      huber_delta_(static_cast<float>(config.huber_delta)) {}

Tensor Regression::loss_of(const Tensor& error) const {
  if (loss_ == RegressionLoss::mse) return ops::square(error);
  const Tensor size = ops::abs(error);
  if (loss_ == RegressionLoss::mae) return size;
  // With q = min(|e|, delta), q^2 / 2 + delta (|e| - q) holds on both sides of delta.
  const Tensor delta = Tensor::full(error.device(), {1}, static_cast<double>(huber_delta_));
  const Tensor near = ops::min(size, delta);
  return ops::add(ops::mul(ops::square(near), 0.5F), ops::mul(ops::sub(size, near), huber_delta_));
}

WeightedScalar Regression::build_losses(const Batch& batch, const NestedMap& outputs,
                                        const FpropContext& context) {
  const Tensor* weights = batch.find("weight");
  const Tensor each = loss_of(ops::sub(one_number_each(outputs), batch.at("label")));
  Tensor loss = ops::weighted_mean(each, weights != nullptr ? *weights : Tensor());
  return {add_aux_losses(std::move(loss), context), sum_of_weights(batch)};
}

Metrics Regression::build_metrics(Phase) {
  Metrics metrics;
  RegressionScoresConfig config;
  config.scale = encoding().label_std;
  metrics.push_back(std::make_unique<RegressionScores>(config));
  return metrics;
}

NestedMap Regression::inference_step(const Batch& batch, Model& model, FpropContext& context) {
  NestedMap outputs = Task::inference_step(batch, model, context);
  const NoGrad no_grad;
  const Tensor scaled =
      ops::mul(one_number_each(outputs), static_cast<float>(encoding().label_std));
  outputs.set("prediction", ops::add(scaled, static_cast<float>(encoding().label_mean)));
  return outputs;
}

const void* Regression::extension(std::string_view id) const noexcept {
  if (id == kTaskPredictor) return static_cast<const Predictor*>(this);
  return TabularTask::extension(id);
}

std::vector<Value> Regression::predictions(const Batch& batch, const NestedMap& outputs) const {
  return number_predictions(batch, outputs.at("prediction"), "prediction");
}

}  // namespace trivet::tabular
