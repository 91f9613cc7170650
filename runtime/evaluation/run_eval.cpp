// SPDX-License-Identifier: Apache-2.0
#include "evaluation/run_eval.h"

#include <utility>

#include "evaluation/run_infer.h"
#include "step/step_parts.h"

namespace trivet {

RunEval::RunEval(Task& task, const Predictor* predictor)
    : task_(task), predictor_(predictor), metrics_(all_metrics(task, Phase::evaluation)) {
  results(metrics_);  // two of one name are found before the run trains
}

void RunEval::begin() {
  reset(metrics_);
  loss_sum_ = weight_sum_ = 0;
  aggregated_.reset();
}

void RunEval::add(const Batch& batch, const ProgramStep& step) {
  StepState state{step.model, step.store, nullptr, metrics_, step.context};
  const StepOutput output =
      in_task(task_, "validation_step", [&] { return task_.validation_step(batch, state); });
  if (output.loss.defined() && output.weight > 0) {
    loss_sum_ += output.weight * output.loss.item();
    weight_sum_ += output.weight;
  }
  in_task(task_, "aggregate_logs",
          [&] { aggregated_ = task_.aggregate_logs(std::move(aggregated_), output); });
  if (predictor_ == nullptr || !step.take_output) return;
  take_predictions(task_, *predictor_, output.batch, output.outputs, step);
}

Logs RunEval::result(std::int64_t global_step) {
  Logs logs;
  if (weight_sum_ > 0) logs.set("validation_loss", loss_sum_ / weight_sum_);
  logs.merge(results(metrics_));
  if (!aggregated_) return logs;
  in_task(task_, "reduce_aggregated_logs",
          [&] { logs.merge(task_.reduce_aggregated_logs(*aggregated_, global_step)); });
  return logs;
}

}  // namespace trivet
