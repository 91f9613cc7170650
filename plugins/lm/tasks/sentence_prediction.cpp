// SPDX-License-Identifier: Apache-2.0
#include "lm/tasks/sentence_prediction.h"

#include <limits>
#include <string>
#include <vector>

#include "lm/metrics/class_scores.h"
#include "lm/metrics/correlation.h"
#include "lm/tasks/model_fields.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/ops/host_array.h"
#include "trivet/train/predictions.h"

namespace trivet::lm {
namespace {

// Collected during an evaluation.
struct Pairs final : AggregatedLogs {
  std::vector<double> labels, told;

  Value save_state() const override {
    return Value::table({{"labels", Value::Array(labels.begin(), labels.end())},
                         {"told", Value::Array(told.begin(), told.end())}});
  }
  void merge(const Value& state) override {
    constexpr const char* kOwner = "the state of a regression's evaluation";
    for (const Value& label : state.at("labels", kOwner).items()) {
      labels.push_back(label.as_float());
    }
    for (const Value& number : state.at("told", kOwner).items()) told.push_back(number.as_float());
    if (labels.size() != told.size()) {
      throw Error(std::string(kOwner) + " has lists of different lengths");
    }
  }
};

Tensor weights_of(const Batch& batch) {
  const Tensor* weights = batch.find("weight");
  return weights != nullptr ? *weights : Tensor();
}

Tensor squared_errors(const Tensor& logits, const Tensor& labels) {
  return ops::square(ops::sub(ops::reshape(logits, {logits.dim(0)}), labels));
}

}  // namespace

std::unique_ptr<Model> SentencePrediction::build_model(const ConfigOf<Model>& config,
                                                       Scope& scope) {
  return TextTask::build_model(with_num_classes(config, num_classes_), scope);
}

std::unique_ptr<Input> SentencePrediction::build_inputs(const ConfigOf<Input>& config,
                                                        InputContext& context) {
  const Value* names = config.fields().find("class_names");
  const bool given = names != nullptr && names->is_array() && !names->items().empty();
  if (given && std::ssize(names->items()) != num_classes_) {
    throw ConfigError(Diagnostic{.path = context.name + ".class_names",
                                 .what = "has " + std::to_string(names->items().size()) +
                                         " names, but task.num_classes is " +
                                         std::to_string(num_classes_)});
  }
  if (given) {
    class_names_.clear();
    for (const Value& name : names->items()) class_names_.push_back(name.as_string());
  }
  return TextTask::build_inputs(config, context);
}

const void* SentencePrediction::extension(std::string_view id) const noexcept {
  if (id == kTaskPredictor) return static_cast<const Predictor*>(this);
  return TextTask::extension(id);
}

std::vector<Value> SentencePrediction::predictions(const Batch& batch,
                                                   const NestedMap& outputs) const {
  const Tensor& logits = outputs.at("logits");
  return regression() ? number_predictions(batch, logits, "prediction")
                      : class_predictions(batch, logits, class_names_);
}

WeightedScalar SentencePrediction::build_losses(const Batch& batch, const NestedMap& outputs,
                                                const FpropContext& context) {
  const Tensor& logits = outputs.at("logits");
  const Tensor& labels = batch.at("label");
  if (logits.rank() != 2 || logits.dim(1) != num_classes_) {
    throw Error("lm/SentencePrediction: expected logits [B, " + std::to_string(num_classes_) +
                "] from the model, got " + logits.to_string());
  }
  if ((labels.dtype() == DType::f32) != regression()) {
    throw Error("lm/SentencePrediction: num_classes is " + std::to_string(num_classes_) +
                    ", but the input has labels " + labels.to_string(),
                {.hint = "label_type = \"number\" of the input needs num_classes = 1"});
  }
  const Tensor each =
      regression() ? squared_errors(logits, labels) : ops::softmax_cross_entropy(logits, labels);
  return {add_aux_losses(ops::weighted_mean(each, weights_of(batch)), context),
          sum_of_weights(batch)};
}

Metrics SentencePrediction::build_metrics(Phase) {
  Metrics metrics;
  if (!regression()) metrics.push_back(std::make_unique<ClassScores>(num_classes_));
  return metrics;
}

std::unique_ptr<AggregatedLogs> SentencePrediction::aggregate_logs(
    std::unique_ptr<AggregatedLogs> state, const StepOutput& step) {
  if (!regression()) return state;
  if (state == nullptr) state = std::make_unique<Pairs>();
  auto& pairs = static_cast<Pairs&>(*state);
  const HostArray<float> told(step.outputs.at("logits")), labels(step.batch.at("label"));
  const Tensor* given = step.batch.find("weight");
  const std::vector<float> weights =
      given != nullptr ? given->to_host<float>() : std::vector<float>();
  for (std::int64_t i = 0; i < step.batch.at("label").size(); ++i) {
    if (!weights.empty() && weights[static_cast<std::size_t>(i)] == 0) continue;
    pairs.told.push_back(static_cast<double>(told[i]));
    pairs.labels.push_back(static_cast<double>(labels[i]));
  }
  return state;
}

Logs SentencePrediction::reduce_aggregated_logs(AggregatedLogs& state, std::int64_t) {
  const std::vector<double>& labels = static_cast<const Pairs&>(state).labels;
  const std::vector<double>& told = static_cast<const Pairs&>(state).told;
  double squared = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    squared += (told[i] - labels[i]) * (told[i] - labels[i]);
  }
  const double r = pearson(told, labels), rho = spearman(told, labels);
  Logs logs;
  if (!labels.empty()) {
    logs.set("mean_squared_error", squared / static_cast<double>(labels.size()));
  }
  logs.set("pearson", r);
  logs.set("spearman", rho);
  logs.set("pearson_spearman_corr", (r + rho) / 2);
  return logs;
}

ExpectedInitialLoss::Range SentencePrediction::expected_initial_loss() const {
  if (!regression()) return chance_of(num_classes_);
  return {0, std::numeric_limits<double>::infinity(), "a squared error of unknown size"};
}

}  // namespace trivet::lm
