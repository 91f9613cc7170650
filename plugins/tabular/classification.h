// SPDX-License-Identifier: Apache-2.0
// tabular/Classification: predicts a row's value of the label column. Softmax cross entropy of the
// model's "logits" [B, classes], as in class_loss.h; accuracy and, in evaluations with two classes,
// auc of the second class. The order is false < true, 0 < 1, or by text.
#pragma once

#include "tabular_task.h"
#include "trivet/extensions/expected_initial_loss.h"
#include "trivet/extensions/predictor.h"

namespace trivet::tabular {

struct ClassificationConfig : TabularConfig {
  Map<double> class_weights;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(ClassificationConfig, TabularConfig,
              (class_weights,
               "Factor of the loss of a class by its text, for classes of unequal sizes: {yes = "
               "5}; 1 for others. The evaluation's loss has them, too.",
               at_least(0), adjustable))

class Classification final : public TabularTask, public ExpectedInitialLoss, public Predictor {
 public:
  using Config = ClassificationConfig;
  Classification(const Config& config, TaskContext& context);

  WeightedScalar build_losses(const Batch& batch, const NestedMap& outputs,
                              const FpropContext& context) override;
  Metrics build_metrics(Phase phase) override;
  std::unique_ptr<AggregatedLogs> aggregate_logs(std::unique_ptr<AggregatedLogs> state,
                                                 const StepOutput& step) override;
  Logs reduce_aggregated_logs(AggregatedLogs& state, std::int64_t global_step) override;
  const void* extension(std::string_view id) const noexcept override;
  // Valid after build_model.
  Range expected_initial_loss() const override { return chance_of(classes_); }
  // Valid after build_model. The classes are texts of the label's column.
  std::vector<Value> predictions(const Batch& batch, const NestedMap& outputs) const override;

 protected:
  std::int64_t output_dims() override;

 private:
  void set_weights();

  Map<double> weights_by_name_;
  std::vector<double> class_weights_;  // empty: all 1
  std::int64_t classes_ = 2;
  std::vector<std::string> names_;
};

}  // namespace trivet::tabular
