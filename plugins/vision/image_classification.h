// SPDX-License-Identifier: Apache-2.0
// ImageClassification: one label per image, or several.
//
// Batches have "image" f32 [B, H, W, C], "label" i32 [B] or f32 [B, num_classes], and optionally
// "weight" f32 [B]; the model returns "logits" f32 [B, num_classes]. The losses are those of
// class_loss.h. After Model Garden's task of that name, with its metric names.
#pragma once

#include "trivet/extensions/expected_initial_loss.h"
#include "trivet/extensions/predictor.h"
#include "trivet/task.h"
#include "trivet/train/class_loss.h"

namespace trivet::vision {

struct ImageClassificationConfig : TaskConfig {
  std::int64_t num_classes = 10;
  ClassLoss loss = ClassLoss::softmax;
  bool multi_label = false;
  std::vector<double> class_weights;
  double label_smoothing = 0;
  double t1 = 1;
  double t2 = 1;
  std::int64_t top_k = 5;
  std::vector<std::string> class_names;
  bool confusion_matrix = true;  // up to ConfusionMatrix::kMostClasses; none for more classes

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(ImageClassificationConfig, trivet::TaskConfig,
              (num_classes, "Number of classes.", at_least(2)),
              (loss,
               "softmax: cross entropy over the classes; sigmoid: the mean of a binary cross "
               "entropy for each class; bi_tempered: a bounded loss and a softmax with a heavy "
               "tail, for data with wrong labels.",
               adjustable),
              (multi_label,
               "Several classes of an image may be right: batches have a label of 0 and 1 for each "
               "class. Needs loss = \"sigmoid\"."),
              (class_weights,
               "Factor of the loss for each class, for classes of unequal sizes; empty: 1. The "
               "evaluation's loss has them, too.",
               at_least(0), adjustable),
              (label_smoothing,
               "Share of the target given to all classes alike; with sigmoid, half of it is given "
               "to each class.",
               at_least(0), less_than(1), adjustable),
              (t1,
               "Temperature of the logarithm with bi_tempered: the lower, the smaller the "
               "largest loss of an example.",
               at_least(0), at_most(1), adjustable),
              (t2, "Temperature of the softmax with bi_tempered: the higher, the heavier its tail.",
               at_least(1), at_most(10), adjustable),
              (top_k,
               "Also reports the accuracy over the top k logits. 1: off. The default is limited to "
               "num_classes.",
               at_least(1), adjustable),
              (class_names, "Names of the classes in predictions; none: their numbers.",
               adjustable),
              (confusion_matrix,
               "Evaluations write confusion_matrix.csv into the run's directory and report "
               "macro_precision and macro_recall; with more than 2,048 classes they never do.",
               adjustable))

class ImageClassification final : public Task, public ExpectedInitialLoss, public Predictor {
 public:
  using Config = ImageClassificationConfig;
  ImageClassification(const Config& config, TaskContext& context);

  WeightedScalar build_losses(const Batch& batch, const NestedMap& outputs,
                              const FpropContext& context) override;
  Metrics build_metrics(Phase phase) override;
  // Both as the default, and where summaries are wanted: images as the model sees them, and logits.
  StepOutput train_step(const Batch& batch, StepState& state) override;
  StepOutput validation_step(const Batch& batch, StepState& state) override;
  std::unique_ptr<AggregatedLogs> aggregate_logs(std::unique_ptr<AggregatedLogs> state,
                                                 const StepOutput& step) override;
  Logs reduce_aggregated_logs(AggregatedLogs& state, std::int64_t global_step) override;
  const void* extension(std::string_view id) const noexcept override;
  Range expected_initial_loss() const override;
  std::vector<Value> predictions(const Batch& batch, const NestedMap& outputs) const override;

 private:
  std::int64_t num_classes_;
  ClassLoss loss_;
  bool multi_label_;
  std::vector<double> class_weights_;
  float label_smoothing_;
  double t1_, t2_;
  std::int64_t top_k_;
  std::vector<std::string> class_names_;
  bool confusion_matrix_;
};

}  // namespace trivet::vision
