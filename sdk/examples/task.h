// SPDX-License-Identifier: Apache-2.0
// Regression: the mean squared error of "prediction" [B, D], which the model gives, and "y" [B, D]
// of the batch. Examples whose "weight" is 0 count neither in the loss nor in the metrics.
#pragma once

#include <trivet/error.h>
#include <trivet/ops.h>
#include <trivet/task.h>
#include <trivet/train/predictions.h>

namespace acme {

// [class]
struct RegressionConfig : trivet::TaskConfig {};
TRIVET_CONFIG(RegressionConfig, trivet::TaskConfig)

class Regression final : public trivet::Task {
 public:
  using Config = RegressionConfig;

  Regression(const Config& config, trivet::TaskContext& context) : Task(config, context) {}

  trivet::WeightedScalar build_losses(const trivet::Batch& batch, const trivet::NestedMap& outputs,
                                      const trivet::FpropContext& context) override {
    namespace ops = trivet::ops;
    const trivet::Tensor& prediction = outputs.at("prediction");
    const trivet::Tensor& y = batch.at("y");
    if (prediction.rank() != 2 || !(prediction.shape() == y.shape())) {
      throw trivet::Error("examples/Regression: the model's prediction is " +
                          prediction.to_string() + ", y of the batch is " + y.to_string());
    }
    const trivet::Tensor per_example = ops::mean(ops::square(ops::sub(prediction, y)), -1);
    const trivet::Tensor loss = ops::weighted_mean(per_example, batch.at("weight"));
    return {trivet::add_aux_losses(loss, context), trivet::sum_of_weights(batch)};
  }
};
// [/class]

}  // namespace acme
