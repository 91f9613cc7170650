// SPDX-License-Identifier: Apache-2.0
#include "train/evaluation.h"

#include <optional>
#include <utility>

#include "train/batch_size.h"
#include "train/step_parts.h"
#include "trivet/error.h"

namespace trivet {

Evaluation::Evaluation(Task& task, const ConfigOf<Input>& input, ValidationData data)
    : task_(task), config_(input), metrics_(build_metrics(task, Phase::evaluation)), data_(data) {
  input_ = build_input(task, config_, Phase::evaluation);
}

Evaluation::~Evaluation() = default;

void Evaluation::restore_state(const Value& state) {
  input_->restore_state(state);
}

// If evaluations continue, the start of the data follows its end.
std::optional<Batch> Evaluation::next() {
  std::optional<Batch> batch = next_batch(*input_, config_);
  if (batch || data_ == ValidationData::restart) return batch;
  input_->reset();
  return next_batch(*input_, config_);
}

Logs Evaluation::run(Model& model, ParameterStore& store, const FpropContext& context,
                     std::int64_t steps, TrainerObserver& observer) {
  if (used_ && data_ == ValidationData::restart) input_->reset();
  used_ = true;
  reset(metrics_);
  Device& device = store.device();
  double loss_sum = 0, weight_sum = 0;
  std::unique_ptr<AggregatedLogs> aggregated;
  Summaries summaries;
  std::int64_t done = 0;
  while (steps < 0 || done < steps) {
    if (observer.stop_requested()) return {};
    const auto batch = next();
    if (!batch) break;
    device.begin_step();
    in_step("evaluation", done + 1, [&] {
      FpropContext own = context;
      if (done > 0) own.summaries = {};
      StepState state{model, store, nullptr, metrics_, own};
      const StepOutput output =
          in_task(task_, "validation_step", [&] { return task_.validation_step(*batch, state); });
      if (output.loss.defined() && output.weight > 0) {
        loss_sum += output.weight * output.loss.item();
        weight_sum += output.weight;
      }
      in_task(task_, "aggregate_logs",
              [&] { aggregated = task_.aggregate_logs(std::move(aggregated), output); });
      if (done == 0) summaries = std::move(own.summaries);
    });
    device.end_step();
    observer.on_eval_step(++done, size_of(*batch).examples);
  }
  if (done == 0) {
    throw InputError("the evaluation data has no batch", {.path = "task.eval_input"});
  }
  if (summaries.wanted()) observer.on_summaries("eval", context.step, summaries);
  Logs logs;
  if (weight_sum > 0) logs.set("validation_loss", loss_sum / weight_sum);
  logs.merge(results(metrics_));
  if (!aggregated) return logs;
  in_task(task_, "reduce_aggregated_logs",
          [&] { logs.merge(task_.reduce_aggregated_logs(*aggregated, context.step)); });
  return logs;
}

}  // namespace trivet
