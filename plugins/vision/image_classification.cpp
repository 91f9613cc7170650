// SPDX-License-Identifier: Apache-2.0
#include "image_classification.h"

#include <algorithm>
#include <filesystem>

#include "confusion_matrix.h"
#include "metrics.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/train/predictions.h"

namespace trivet::vision {
namespace {

void summarize(const StepOutput& step, Summaries& summaries) {
  if (!summaries.wanted()) return;
  const Tensor& images = step.batch.at("image");
  const bool can_be_seen = images.rank() == 4 && images.dim(3) <= 4;
  if (can_be_seen) summaries.images("images", images, ImageRange::fit);
  summaries.histogram("logits", step.outputs.at("logits"));
}

}  // namespace

void ImageClassificationConfig::validate(Diagnostics& diagnostics) const {
  // The default never contradicts another field.
  const bool is_default = top_k == ImageClassificationConfig().top_k;
  if (top_k > num_classes && !is_default) {
    diagnostics.add(
        "top_k",
        "is " + std::to_string(top_k) + " with only " + std::to_string(num_classes) + " classes",
        "set it to num_classes or less");
  }
  if (!class_names.empty() && std::ssize(class_names) != num_classes) {
    diagnostics.add("class_names", "has " + std::to_string(class_names.size()) +
                                       " names, but num_classes is " + std::to_string(num_classes));
  }
}

ImageClassification::ImageClassification(const Config& config, TaskContext& context)
    : Task(config, context),
      num_classes_(config.num_classes),
      label_smoothing_(static_cast<float>(config.label_smoothing)),
      top_k_(std::min(config.top_k, config.num_classes)),
      class_names_(config.class_names),
      confusion_matrix_(config.confusion_matrix &&
                        config.num_classes <= ConfusionMatrix::kMostClasses) {}

WeightedScalar ImageClassification::build_losses(const Batch& batch, const NestedMap& outputs,
                                                 const FpropContext& context) {
  const Tensor& logits = outputs.at("logits");
  if (logits.rank() != 2 || logits.dim(1) != num_classes_) {
    throw Error("vision/ImageClassification: expected logits [B, " + std::to_string(num_classes_) +
                "] from the model, got " + logits.to_string());
  }
  const Tensor per_example =
      ops::softmax_cross_entropy(logits, batch.at("label"), {.label_smoothing = label_smoothing_});
  const Tensor* weights = batch.find("weight");
  Tensor loss = ops::weighted_mean(per_example, weights != nullptr ? *weights : Tensor());
  return {add_aux_losses(std::move(loss), context), sum_of_weights(batch)};
}

Metrics ImageClassification::build_metrics(Phase) {
  Metrics metrics;
  metrics.push_back(std::make_unique<Accuracy>(AccuracyConfig{}));
  if (top_k_ > 1) metrics.push_back(std::make_unique<TopK>(TopKConfig{{}, top_k_}));
  return metrics;
}

StepOutput ImageClassification::train_step(const Batch& batch, StepState& state) {
  StepOutput step = Task::train_step(batch, state);
  summarize(step, state.context.summaries);
  return step;
}

StepOutput ImageClassification::validation_step(const Batch& batch, StepState& state) {
  StepOutput step = Task::validation_step(batch, state);
  summarize(step, state.context.summaries);
  return step;
}

std::unique_ptr<AggregatedLogs> ImageClassification::aggregate_logs(
    std::unique_ptr<AggregatedLogs> state, const StepOutput& step) {
  if (!confusion_matrix_) return state;
  if (state == nullptr) state = std::make_unique<ConfusionMatrix>(num_classes_);
  static_cast<ConfusionMatrix&>(*state).add(Predictions(step.batch, step.outputs));
  return state;
}

const void* ImageClassification::extension(std::string_view id) const noexcept {
  if (id == kTaskExpectedInitialLoss) return static_cast<const ExpectedInitialLoss*>(this);
  if (id == kTaskPredictor) return static_cast<const Predictor*>(this);
  return Task::extension(id);
}

std::vector<Value> ImageClassification::predictions(const Batch& batch,
                                                    const NestedMap& outputs) const {
  return class_predictions(batch, outputs.at("logits"), class_names_);
}

Logs ImageClassification::reduce_aggregated_logs(AggregatedLogs& state, std::int64_t) {
  const auto& matrix = static_cast<const ConfusionMatrix&>(state);
  if (!logging_dir().empty()) {
    matrix.write_csv(std::filesystem::path(logging_dir()) / "confusion_matrix.csv");
  }
  return matrix.summary();
}

}  // namespace trivet::vision
