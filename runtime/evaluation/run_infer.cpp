// SPDX-License-Identifier: Apache-2.0
#include "evaluation/run_infer.h"

#include <vector>

#include "step/batch_size.h"
#include "step/step_parts.h"
#include "trivet/tape.h"

namespace trivet {

void RunInfer::add(const Batch& batch, const ProgramStep& step) {
  const NoGrad no_grad;
  const Batch own = batch.to(task_.device());
  const NestedMap outputs = in_task(
      task_, "inference_step", [&] { return task_.inference_step(own, step.model, step.context); });
  examples_ += take_predictions(task_, predictor_, own, outputs, step);
}

Logs RunInfer::result(std::int64_t) {
  Logs logs;
  logs.set("examples", static_cast<double>(examples_));
  return logs;
}

std::int64_t take_predictions(const Task& task, const Predictor& predictor, const Batch& batch,
                              const NestedMap& outputs, const ProgramStep& step) {
  std::vector<Value> rows = in_task(task, "predictions", [&] {
    std::vector<Value> made = predictor.predictions(batch, outputs);
    if (std::ssize(made) != size_of(batch).rows) {
      throw PluginError(fmt::format("its predictions are of {} examples, and the batch has {}",
                                    made.size(), size_of(batch).rows));
    }
    return made;
  });
  std::int64_t examples = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].is_null()) continue;
    ++examples;
    if (!step.take_output) continue;
    step.take_output(step.first_example + static_cast<std::int64_t>(row), std::move(rows[row]));
  }
  return examples;
}

}  // namespace trivet
