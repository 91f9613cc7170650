// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "multi_task.h"

namespace trivet::multitask {

Interleaved::Interleaved(const Config& config, TaskContext& context)
    : MultiTask(config, context), sampler_(config.sampler) {}

std::unique_ptr<Input> Interleaved::build_inputs(const ConfigOf<Input>&, InputContext& context) {
  if (context.phase == Phase::evaluation) {
    return std::make_unique<InTurnInput>(sources(context.phase));
  }
  return std::make_unique<InterleavedInput>(sources(context.phase),
                                            TaskSampler(sampler_, weights()));
}

StepOutput Interleaved::train_step(const Batch& batch, StepState& state) {
  StepOutput out = step_of_one(&Task::train_step, batch, state);
  if (device().host_visible() && out.loss.defined()) {
    const std::string& name = subtasks()[task_of(batch)].config.name;
    out.logs.set(name + "/training_loss", static_cast<double>(out.loss.item()));
  }
  return out;
}

// The range of the task that is drawn first.
ExpectedInitialLoss::Range Interleaved::expected_initial_loss() const {
  Range any;
  for (const Range& range : expected_initial_losses()) {
    const bool first = any.reason.empty();
    any.low = first ? range.low : std::min(any.low, range.low);
    any.high = std::max(any.high, range.high);
    any.reason += (first ? "" : ", or ") + range.reason;
  }
  return any;
}

}  // namespace trivet::multitask
