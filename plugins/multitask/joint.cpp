// SPDX-License-Identifier: Apache-2.0
#include "multi_task.h"
#include "trivet/error.h"

namespace trivet::multitask {

Joint::Joint(const Config& config, TaskContext& context) : MultiTask(config, context) {}

std::unique_ptr<Input> Joint::build_inputs(const ConfigOf<Input>&, InputContext& context) {
  if (!context.training) return std::make_unique<InTurnInput>(sources(false));
  return std::make_unique<JointInput>(sources(true));
}

StepOutput Joint::train_step(const Batch& batch, StepState& state) {
  std::int64_t rows = 0;
  for (const Subtask& subtask : subtasks()) {
    const Batch part = batch.child(subtask.config.name);
    if (!part.empty() && part.begin()->second.rank() > 0) rows += part.begin()->second.dim(0);
  }
  if (batch.at("weight").dim(0) != rows) {
    throw Error("trainer.gradient_accumulation cannot cut the batches of several tasks",
                {.path = "trainer.gradient_accumulation",
                 .hint = "set it to 1 and lower the tasks' batch sizes, or use "
                         "multitask/Interleaved"});
  }
  StepOutput out = MultiTask::train_step(batch, state);
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    if (device().host_visible() && losses_[i].defined()) {
      out.logs.set(subtasks()[i].config.name + "/training_loss",
                   static_cast<double>(losses_[i].item()));
    }
    losses_[i] = Tensor();  // its memory is the step's
  }
  return out;
}

FirstLoss::Range Joint::first_loss() const {
  Range sum;
  const std::vector<Range> ranges = first_losses();
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const double weight = subtasks()[i].config.weight;
    sum.low += weight * ranges[i].low;
    sum.high += weight * ranges[i].high;
    sum.reason += (i == 0 ? "" : " and ") + ranges[i].reason;
  }
  return sum;
}

}  // namespace trivet::multitask
