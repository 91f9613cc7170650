// SPDX-License-Identifier: Apache-2.0
#include "image_classification.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "confusion_matrix.h"
#include "metrics.h"
#include "trivet/error.h"
#include "trivet/ops/tempered_softmax.h"
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
  if (multi_label && loss != ClassLoss::sigmoid) {
    diagnostics.add("multi_label", "is true, but a softmax has one right class",
                    "set loss = \"sigmoid\"");
  }
  for (const auto& [field, temperature] : {std::pair{"t1", t1}, std::pair{"t2", t2}}) {
    if (loss != ClassLoss::bi_tempered && temperature != 1) {
      diagnostics.add(field, "has no effect with this loss",
                      "remove it, or set loss = \"bi_tempered\"");
    }
  }
  // log_t and exp_t divide by 1 - t.
  constexpr double kNear = 0.01;
  for (const auto& [field, temperature] : {std::pair{"t1", t1}, std::pair{"t2", t2}}) {
    if (temperature != 1 && std::abs(temperature - 1) < kNear) {
      diagnostics.add(field, "is too near 1 for 32-bit floats", "use 1, or at least 0.01 off it");
    }
  }
  if (multi_label && top_k > 1 && !is_default) {
    diagnostics.add("top_k", "is set, but with multi_label no single class is right", "remove it");
  }
  if (!class_weights.empty() && std::ssize(class_weights) != num_classes) {
    diagnostics.add("class_weights", "has " + std::to_string(class_weights.size()) +
                                         " weights, but num_classes is " +
                                         std::to_string(num_classes));
  }
  if (!class_weights.empty() && std::ranges::count(class_weights, 0.0) == num_classes) {
    diagnostics.add("class_weights", "are all 0: there is nothing to learn");
  }
  if (!class_names.empty() && std::ssize(class_names) != num_classes) {
    diagnostics.add("class_names", "has " + std::to_string(class_names.size()) +
                                       " names, but num_classes is " + std::to_string(num_classes));
  }
}

ImageClassification::ImageClassification(const Config& config, TaskContext& context)
    : Task(config, context),
      num_classes_(config.num_classes),
      loss_(config.loss),
      multi_label_(config.multi_label),
      class_weights_(config.class_weights),
      label_smoothing_(static_cast<float>(config.label_smoothing)),
      t1_(config.t1),
      t2_(config.t2),
      top_k_(std::min(config.top_k, config.num_classes)),
      class_names_(config.class_names),
      confusion_matrix_(config.confusion_matrix && !config.multi_label &&
                        config.num_classes <= ConfusionMatrix::kMostClasses) {}

WeightedScalar ImageClassification::build_losses(const Batch& batch, const NestedMap& outputs,
                                                 const FpropContext& context) {
  const Tensor& logits = outputs.at("logits");
  if (logits.rank() != 2 || logits.dim(1) != num_classes_) {
    throw Error("vision/ImageClassification: expected logits [B, " + std::to_string(num_classes_) +
                "] from the model, got " + logits.to_string());
  }
  const WeightedScalar mean = class_loss(batch, logits,
                                         {.loss = loss_,
                                          .multi_label = multi_label_,
                                          .label_smoothing = label_smoothing_,
                                          .class_weights = class_weights_,
                                          .t1 = t1_,
                                          .t2 = t2_},
                                         "vision/ImageClassification");
  return {add_aux_losses(mean.value, context), mean.weight};
}

ExpectedInitialLoss::Range ImageClassification::expected_initial_loss() const {
  if (loss_ == ClassLoss::bi_tempered) {
    // The bounded loss of equal probabilities.
    const double classes = static_cast<double>(num_classes_), p = 1 / classes, t = t1_;
    const double log_p = t == 1 ? std::log(p) : (std::pow(p, 1 - t) - 1) / (1 - t);
    const double equal = -log_p - (1 - classes * std::pow(p, 2 - t)) / (2 - t);
    return {equal / 2, equal + 2,
            "equal probabilities of " + std::to_string(num_classes_) + " classes"};
  }
  // Of a sigmoid, every class has probability 1/2.
  return chance_of(loss_ == ClassLoss::sigmoid ? 2 : num_classes_);
}

Metrics ImageClassification::build_metrics(Phase) {
  Metrics metrics;
  if (multi_label_) {
    metrics.push_back(std::make_unique<BinaryAccuracy>(BinaryAccuracyConfig{}));
    return metrics;
  }
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
  const Tensor& logits = outputs.at("logits");
  if (multi_label_) return label_predictions(batch, logits, class_names_);
  // The softmax of a logarithm of probabilities is the probabilities.
  return class_predictions(batch, t2_ == 1 ? logits : ops::tempered_log_softmax(logits, t2_),
                           class_names_);
}

Logs ImageClassification::reduce_aggregated_logs(AggregatedLogs& state, std::int64_t) {
  const auto& matrix = static_cast<const ConfusionMatrix&>(state);
  if (!logging_dir().empty()) {
    matrix.write_csv(std::filesystem::path(logging_dir()) / "confusion_matrix.csv");
  }
  return matrix.summary();
}

}  // namespace trivet::vision
