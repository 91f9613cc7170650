// SPDX-License-Identifier: Apache-2.0
// SentencePrediction: predicts a class or a number for each row of text (Model Garden's
// sentence_prediction). Its input is data/SentencePairs; its model returns "logits" [B,
// num_classes].
//
// With num_classes of 2 or more the loss is the mean softmax cross entropy with "label" i32 [B];
// metrics (class_counts.h) are accuracy, matthews_corrcoef, and f1 of class 1 for two classes or
// macro_f1 for more.
//
// With num_classes = 1, a regression, the loss is the mean of (logit - label)^2, "label" f32 [B].
// Evaluations then report mean_squared_error, pearson, spearman (correlation.h) and
// pearson_spearman_corr, the mean of the last two. They keep 16 bytes per example.
#pragma once

#include <string>
#include <vector>

#include "lm/tasks/text_task.h"
#include "trivet/extensions/predictor.h"

namespace trivet::lm {

struct SentencePredictionConfig : TextTaskConfig {
  std::int64_t num_classes = 2;
};
TRIVET_CONFIG(SentencePredictionConfig, TextTaskConfig,
              (num_classes, "Number of classes; 1: labels are numbers (regression).", at_least(1)))

class SentencePrediction final : public TextTask, public Predictor {
 public:
  using Config = SentencePredictionConfig;
  SentencePrediction(const Config& config, TaskContext& context)
      : TextTask(config, context), num_classes_(config.num_classes) {}

  std::unique_ptr<Model> build_model(const ConfigOf<Model>& config, Scope& scope) override;
  // Throws ConfigError if the input has another number of class_names.
  std::unique_ptr<Input> build_inputs(const ConfigOf<Input>& config,
                                      InputContext& context) override;
  WeightedScalar build_losses(const Batch& batch, const NestedMap& outputs,
                              const FpropContext& context) override;
  Metrics build_metrics(Phase phase) override;
  std::unique_ptr<AggregatedLogs> aggregate_logs(std::unique_ptr<AggregatedLogs> state,
                                                 const StepOutput& step) override;
  Logs reduce_aggregated_logs(AggregatedLogs& state, std::int64_t global_step) override;
  Range expected_initial_loss() const override;
  const void* extension(std::string_view id) const noexcept override;
  // Classes have the names in the class_names of the inputs; a regression has "prediction".
  std::vector<Value> predictions(const Batch& batch, const NestedMap& outputs) const override;

 protected:
  std::vector<MetaColumn> loss_columns() const override {
    return {{"label", regression() ? DType::f32 : DType::i32}};
  }

 private:
  bool regression() const { return num_classes_ == 1; }
  std::int64_t num_classes_;
  std::vector<std::string> class_names_;  // of the last input; may be empty
};

}  // namespace trivet::lm
