// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "multi_task.h"

namespace trivet::multitask {
namespace {

// The number of examples of each task in a batch made by add_batch.
std::vector<double> examples_of(const Batch& batch, const std::vector<std::string>& tasks) {
  std::vector<double> sums;
  const auto weights = batch.at("weight").span<float>();
  auto next = weights.begin();
  for (const std::string& task : tasks) {
    const auto end = next + rows_of(batch.child(task));
    sums.push_back(std::accumulate(next, end, 0.0));
    next = end;
  }
  return sums;
}

}  // namespace

Joint::Joint(const Config& config, TaskContext& context) : MultiTask(config, context) {}

std::unique_ptr<Input> Joint::build_inputs(const ConfigOf<Input>&, InputContext& context) {
  if (context.phase == Phase::evaluation) {
    return std::make_unique<InTurnInput>(sources(context.phase));
  }
  return std::make_unique<JointInput>(sources(context.phase));
}

// The mean over P parts of share * mean loss is the task's mean loss over the whole batch, where
// share = P * (examples in the part) / (examples in the batch).
std::vector<Batch> Joint::split_batch(const Batch& batch, std::int64_t parts) {
  std::vector<Batch> cut = MultiTask::split_batch(batch, parts);
  if (cut.size() == 1) return cut;
  std::vector<std::string> names;
  for (const Subtask& subtask : subtasks()) names.push_back(subtask.config.name);
  const std::vector<double> whole = examples_of(batch, names);
  for (Batch& part : cut) {
    const std::vector<double> own = examples_of(part, names);
    Tensor shares = Tensor::host({std::ssize(names)});
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double examples = static_cast<double>(cut.size()) * own[i];
      shares.mutable_span<float>()[i] = static_cast<float>(whole[i] > 0 ? examples / whole[i] : 1);
    }
    part.set("share", shares);
  }
  return cut;
}

StepOutput Joint::train_step(const Batch& batch, StepState& state) {
  StepOutput out = MultiTask::train_step(batch, state);
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    if (device().host_visible() && losses_[i].defined()) {
      out.logs.set(subtasks()[i].config.name + "/training_loss",
                   static_cast<double>(losses_[i].item()));
    }
    losses_[i] = Tensor();  // its memory belongs to the step
  }
  return out;
}

ExpectedInitialLoss::Range Joint::expected_initial_loss() const {
  Range sum;
  const std::vector<Range> ranges = expected_initial_losses();
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const double weight = subtasks()[i].config.weight;
    sum.low += weight * ranges[i].low;
    sum.high += weight * ranges[i].high;
    sum.reason += (i == 0 ? "" : " and ") + ranges[i].reason;
  }
  return sum;
}

}  // namespace trivet::multitask
