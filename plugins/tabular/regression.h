// SPDX-License-Identifier: Apache-2.0
// tabular/Regression: predicts a number from the other columns of a table.
//
// The model's "logits" [B, 1] are compared with standardized labels (mean 0, standard deviation 1
// over the training rows), so losses of different tables are comparable. rmse and mae are in the
// label's own unit; inference returns "prediction" f32 [B] in that unit.
#pragma once

#include "tabular_task.h"
#include "trivet/extensions/predictor.h"

namespace trivet::tabular {

enum class RegressionLoss {
  mse,    // e^2
  mae,    // |e|
  huber,  // e^2 / 2 up to |e| = huber_delta, delta (|e| - delta / 2) above: Huber 1964
};
TRIVET_ENUM(RegressionLoss, mse, mae, huber)

struct RegressionConfig : TabularConfig {
  RegressionLoss loss = RegressionLoss::mse;
  double huber_delta = 1;
};
TRIVET_CONFIG(RegressionConfig, TabularConfig,
              (loss,
               "Loss of an error e in standard deviations of the label: e^2, |e|, or Huber's.",
               adjustable),
              (huber_delta, "Where Huber's loss becomes linear, in standard deviations.",
               more_than(0), adjustable))

class Regression final : public TabularTask, public Predictor {
 public:
  using Config = RegressionConfig;
  Regression(const Config& config, TaskContext& context);

  WeightedScalar build_losses(const Batch& batch, const NestedMap& outputs,
                              const FpropContext& context) override;
  Metrics build_metrics(Phase phase) override;
  NestedMap inference_step(const Batch& batch, Model& model, FpropContext& context) override;
  const void* extension(std::string_view id) const noexcept override;
  // "prediction", in the unit of the label.
  std::vector<Value> predictions(const Batch& batch, const NestedMap& outputs) const override;

 protected:
  std::int64_t output_dims() override { return 1; }

 private:
  Tensor loss_of(const Tensor& error) const;

  RegressionLoss loss_;
  float huber_delta_;
};

}  // namespace trivet::tabular
